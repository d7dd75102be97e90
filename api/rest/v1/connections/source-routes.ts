import '#api/plugins/route-config.ts';
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from '@fastify/type-provider-zod';
import type { GatewayDependencies } from '#api/compose.ts';
import { deleted, errorResponses } from '#api/contract/common.ts';
import * as contract from '#api/contract/connections.ts';
import { connectorParams } from '#api/contract/connectors.ts';
import { presentConnection, presentInitiated } from '#api/present/connections.ts';
import { endSourceConnection, initiateSourceConnection, readConnectionOf } from '#api/source-connections.ts';
import { audits } from '../connectors/audits.ts';

const tags = ['Connectors'];
const one = '/spaces/:space_id/collections/:collection_id/connectors/:connector_id/connection';

/** The account of a connector; its popup is completed like that of a tool server. */
export function sourceConnectionRoutes(deps: GatewayDependencies) {
  return async (instance: FastifyInstance): Promise<void> => {
    const app = instance.withTypeProvider<ZodTypeProvider>();

    app.post(
      `${one}/initiate`,
      {
        config: { permission: 'connectors.update', audit: audits.initiateConnection },
        schema: {
          tags,
          operationId: 'initiateConnectorConnection',
          summary: 'Begin to connect the account of a connector',
          description:
            'Gives the address of a popup, as for a tool server; POST /v1/mcp-auth/complete ends it. Ends an earlier attempt of the caller for this connector.',
          params: connectorParams,
          querystring: contract.initiateSourceQuery,
          response: { 200: contract.initiated, ...errorResponses },
        },
      },
      async (request) =>
        presentInitiated(
          await initiateSourceConnection(deps, request, {
            ...request.params,
            redirectUri: request.query.redirect_uri,
          }),
        ),
    );

    app.get(
      one,
      {
        config: { permission: 'connectors.read', audit: audits.reads },
        schema: {
          tags,
          operationId: 'getConnectorConnection',
          summary: 'Read the connection of a connector',
          params: connectorParams,
          response: { 200: contract.connectionEnvelope, ...errorResponses },
        },
      },
      async (request) => ({
        data: presentConnection(await readConnectionOf(deps, request, request.params)),
      }),
    );

    app.delete(
      one,
      {
        config: { permission: 'connectors.update', audit: audits.disconnect },
        schema: {
          tags,
          operationId: 'deleteConnectorConnection',
          summary: 'Disconnect the account of a connector',
          description:
            'Its tokens are revoked at the authorization server and erased; the connector is `auth_required` then.',
          params: connectorParams,
          response: { 200: deleted, ...errorResponses },
        },
      },
      async (request) => {
        await endSourceConnection(deps, request, request.params);
        return { data: { id: request.params.connector_id, deleted: true as const } };
      },
    );
  };
}
