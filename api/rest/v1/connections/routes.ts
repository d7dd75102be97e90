import '#api/plugins/route-config.ts';
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from '@fastify/type-provider-zod';
import type { GatewayDependencies } from '#api/compose.ts';
import { completeConnection, endConnection, initiateConnection } from '#api/connections.ts';
import { deleted, errorResponses } from '#api/contract/common.ts';
import * as contract from '#api/contract/connections.ts';
import { listQuery } from '#api/contract/knowledge.ts';
import { serverParams } from '#api/contract/tools.ts';
import { presentConnected, presentConnection, presentInitiated } from '#api/present/connections.ts';
import { toPage } from '#api/present/page.ts';
import { listConnections, readConnection } from '#domain/capabilities/connections/read-connection.ts';
import { audits } from './audits.ts';

const tags = ['Tool servers'];
const reads = { none: 'reads' };
const one = '/spaces/:space_id/mcp-servers/:server_id';

export function connectionRoutes(deps: GatewayDependencies) {
  return async (instance: FastifyInstance): Promise<void> => {
    const app = instance.withTypeProvider<ZodTypeProvider>();

    app.post(
      '/mcp-auth/:server_id/initiate',
      {
        config: {
          permission: 'tools.execute',
          audit: audits.initiate,
        },
        schema: {
          tags,
          operationId: 'initiateConnection',
          summary: 'Begin to connect an account at a tool server',
          description:
            'Gives the address of a popup, which carries a signed nonce and no token. Ends an earlier attempt of the caller at this server.',
          params: contract.initiateParams,
          querystring: contract.initiateQuery,
          response: { 200: contract.initiated, ...errorResponses },
        },
      },
      async (request) =>
        presentInitiated(
          await initiateConnection(deps, request, {
            serverId: request.params.server_id,
            redirectUri: request.query.redirect_uri,
            registersAgain: request.query.register_again === 'true',
          }),
        ),
    );

    app.post(
      '/mcp-auth/complete',
      {
        config: {
          permission: 'tools.execute',
          audit: audits.complete,
        },
        schema: {
          tags,
          operationId: 'completeConnection',
          summary: 'Connect the account that the popup has authorized',
          description:
            'Only the principal that initiated it can, with the same session or key, and with connectors.update where it is of a connector. The tools of a server are read then; a connector that waited for its account runs.',
          body: contract.completeBody,
          response: { 200: contract.connectionEnvelope, ...errorResponses },
        },
      },
      async (request) => ({
        data: presentConnection(await completeConnection(deps, request, { handle: request.body.handle })),
      }),
    );

    app.get(
      `${one}/connection`,
      {
        config: { permission: 'mcp_servers.read', audit: reads },
        schema: {
          tags,
          operationId: 'getConnection',
          summary: 'Read the caller’s connection to a tool server, or the space’s shared one',
          params: serverParams,
          response: { 200: contract.connectionEnvelope, ...errorResponses },
        },
      },
      async (request) => {
        const { space_id: spaceId, server_id: serverId } = request.params;
        return {
          data: presentConnection(
            await request.inContext(spaceId, (ctx) => readConnection(ctx, { serverId })),
          ),
        };
      },
    );

    app.delete(
      `${one}/connection`,
      {
        config: { permission: 'tools.execute', audit: audits.disconnect },
        schema: {
          tags,
          operationId: 'deleteConnection',
          summary: 'Disconnect the caller’s account, or the space’s shared one',
          description: 'Its tokens are revoked at the authorization server and erased.',
          params: serverParams,
          response: { 200: deleted, ...errorResponses },
        },
      },
      async (request) => {
        const { space_id: spaceId, server_id: serverId } = request.params;
        await endConnection(deps, request, { spaceId, serverId });
        return { data: { id: serverId, deleted: true as const } };
      },
    );

    app.get(
      `${one}/connections`,
      {
        config: { permission: 'mcp_servers.update', audit: reads },
        schema: {
          tags,
          operationId: 'listConnections',
          summary: 'List who is connected to a tool server, newest first',
          params: serverParams,
          querystring: listQuery,
          response: { 200: contract.connectedPage, ...errorResponses },
        },
      },
      async (request) => {
        const { space_id: spaceId, server_id: serverId } = request.params;
        const { limit, cursor } = request.query;
        const page = await request.inContext(spaceId, (ctx) =>
          listConnections(ctx, { serverId, limit, cursor: cursor ?? null }),
        );
        return toPage({ ...page, items: page.items.map(presentConnected) });
      },
    );
  };
}
