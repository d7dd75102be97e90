import '#api/plugins/route-config.ts';
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from '@fastify/type-provider-zod';
import { createHeaders, listQuery } from '#api/contract/knowledge.ts';
import { deleted, errorResponses, spaceParams } from '#api/contract/common.ts';
import * as contract from '#api/contract/tools.ts';
import { presentServer, toConnectionSettings, toToolSettings } from '#api/present/tools.ts';
import { toPage } from '#api/present/page.ts';
import { listServers, readServer } from '#domain/capabilities/tools/read-servers.ts';
import { refreshServer } from '#domain/capabilities/tools/refresh-server.ts';
import { registerServer } from '#domain/capabilities/tools/register-server.ts';
import { removeServer } from '#domain/capabilities/tools/remove-server.ts';
import { updateServer } from '#domain/capabilities/tools/update-server.ts';
import { markCreated } from '../created.ts';
import { idempotencyOf } from '../idempotency.ts';

const tags = ['Tool servers'];
const reads = { none: 'reads' };
const one = '/spaces/:space_id/mcp-servers/:server_id';

export async function serverRoutes(instance: FastifyInstance): Promise<void> {
  const app = instance.withTypeProvider<ZodTypeProvider>();

  app.post(
    '/spaces/:space_id/mcp-servers',
    {
      config: { permission: 'mcp_servers.create', audit: ['space.mcp_server_added'] },
      schema: {
        tags,
        operationId: 'registerServer',
        summary: 'Connect a tool server',
        description: 'The server is `pending` until its tools have been read. No tool is enabled at first.',
        params: spaceParams,
        headers: createHeaders,
        body: contract.registerServerBody,
        response: { 200: contract.serverEnvelope, 201: contract.serverEnvelope, ...errorResponses },
      },
    },
    async (request, reply) => {
      const { params, headers, body } = request;
      const path = `/v1/spaces/${params.space_id}/mcp-servers`;
      const { replayed, ...registered } = await request.inContext(params.space_id, (ctx) =>
        registerServer(ctx, {
          slug: body.slug,
          displayName: body.display_name,
          transportType: body.transport_type,
          url: body.url,
          iconUrl: body.icon_url ?? null,
          credential:
            body.auth == null ? null : { ref: body.auth.credential_ref, header: body.auth.header ?? null },
          credentialId: body.credential_id ?? null,
          connection: toConnectionSettings(body),
          idempotency: idempotencyOf(headers['idempotency-key'], path, body),
        }),
      );
      markCreated(reply, replayed);
      return { data: presentServer(registered) };
    },
  );

  app.get(
    '/spaces/:space_id/mcp-servers',
    {
      config: { permission: 'mcp_servers.read', audit: reads },
      schema: {
        tags,
        operationId: 'listServers',
        summary: 'List the tool servers of a space, newest first',
        params: spaceParams,
        querystring: listQuery,
        response: { 200: contract.serverPage, ...errorResponses },
      },
    },
    async (request) => {
      const { limit, cursor } = request.query;
      const page = await request.inContext(request.params.space_id, (ctx) =>
        listServers(ctx, { limit, cursor: cursor ?? null }),
      );
      return toPage({ ...page, items: page.items.map(presentServer) });
    },
  );

  app.get(
    one,
    {
      config: { permission: 'mcp_servers.read', audit: reads },
      schema: {
        tags,
        operationId: 'getServer',
        summary: 'Read a tool server with its tools',
        params: contract.serverParams,
        response: { 200: contract.serverEnvelope, ...errorResponses },
      },
    },
    async (request) => {
      const { space_id: spaceId, server_id: serverId } = request.params;
      return {
        data: presentServer(await request.inContext(spaceId, (ctx) => readServer(ctx, { serverId }))),
      };
    },
  );

  app.patch(
    one,
    {
      config: {
        permission: 'mcp_servers.update',
        audit: ['space.mcp_tools_updated', 'space.mcp_server_updated'],
      },
      schema: {
        tags,
        operationId: 'updateServer',
        summary: 'Enable tools of a server, or change its settings',
        params: contract.serverParams,
        body: contract.updateServerBody,
        response: { 200: contract.serverEnvelope, ...errorResponses },
      },
    },
    async (request) => {
      const { params, body } = request;
      const updated = await request.inContext(params.space_id, (ctx) =>
        updateServer(ctx, {
          serverId: params.server_id,
          ...toToolSettings(body),
          displayName: body.display_name,
          iconUrl: body.icon_url,
          credentialId: body.credential_id,
          connection: toConnectionSettings(body),
          enabled: body.enabled,
        }),
      );
      return { data: presentServer(updated) };
    },
  );

  app.post(
    `${one}/refresh`,
    {
      config: {
        permission: 'mcp_servers.connect',
        audit: { none: 'the result is recorded: space.mcp_server_connected, _failed, mcp_tools_changed' },
      },
      schema: {
        tags,
        operationId: 'refreshServer',
        summary: 'Refresh the tools of a server',
        description: 'Answers immediately; `last_checked_at` changes when the refresh is done.',
        params: contract.serverParams,
        response: { 202: contract.serverEnvelope, ...errorResponses },
      },
    },
    async (request, reply) => {
      const { space_id: spaceId, server_id: serverId } = request.params;
      const found = await request.inContext(spaceId, (ctx) => refreshServer(ctx, { serverId }));
      reply.status(202);
      return { data: presentServer(found) };
    },
  );

  app.delete(
    one,
    {
      config: { permission: 'mcp_servers.delete', audit: ['space.mcp_server_removed'] },
      schema: {
        tags,
        operationId: 'removeServer',
        summary: 'Disconnect a tool server',
        description: 'A tool server that a connector reads is not removed: 409 `mcp_server_in_use`.',
        params: contract.serverParams,
        response: { 200: deleted, ...errorResponses },
      },
    },
    async (request) => {
      const { space_id: spaceId, server_id: serverId } = request.params;
      await request.inContext(spaceId, (ctx) => removeServer(ctx, { serverId }));
      return { data: { id: serverId, deleted: true as const } };
    },
  );
}
