import { completeConnection, endConnection, initiateConnection, connectionSettings } from '../connections.ts';
import { deleted } from '#api/contract/common.ts';
import { connectedPage, connectionEnvelope, initiated } from '#api/contract/connections.ts';
import * as inputs from '#api/contract/procedures.ts';
import { presentConnected, presentConnection, presentInitiated } from '#api/present/connections.ts';
import { toPage } from '#api/present/page.ts';
import { audits } from '#api/rest/v1/connections/audits.ts';
import { ownPage } from '#domain/capabilities/connections/connection-parts.ts';
import { listConnections, readConnection } from '#domain/capabilities/connections/read-connection.ts';
import { procedure, reads, router } from './trpc.ts';

export const connections = router({
  initiate: procedure({
    permission: 'tools.execute',
    audit: audits.initiate,
  })
    .input(inputs.initiateConnectionInput)
    .output(initiated)
    .mutation(async ({ ctx: { deps, request }, input }) => {
      const redirectUri = input.redirect_uri ?? ownPage(connectionSettings(deps));
      const registersAgain = input.register_again === 'true';
      const begin = { serverId: input.server_id, redirectUri, registersAgain };
      return presentInitiated(await initiateConnection(deps, request, begin));
    }),

  complete: procedure({
    permission: 'tools.execute',
    audit: audits.complete,
  })
    .input(inputs.completeConnectionInput)
    .output(connectionEnvelope)
    .mutation(async ({ ctx: { deps, request }, input }) => ({
      data: presentConnection(await completeConnection(deps, request, input)),
    })),

  get: procedure({ permission: 'mcp_servers.read', audit: reads })
    .input(inputs.serverInput)
    .output(connectionEnvelope)
    .query(async ({ ctx: { request }, input: { space_id: spaceId, server_id: serverId } }) => ({
      data: presentConnection(await request.inContext(spaceId, (ctx) => readConnection(ctx, { serverId }))),
    })),

  disconnect: procedure({ permission: 'tools.execute', audit: audits.disconnect })
    .input(inputs.serverInput)
    .output(deleted)
    .mutation(async ({ ctx: { deps, request }, input: { space_id: spaceId, server_id: serverId } }) => {
      await endConnection(deps, request, { spaceId, serverId });
      return { data: { id: serverId, deleted: true as const } };
    }),

  list: procedure({ permission: 'mcp_servers.update', audit: reads })
    .input(inputs.connectionListInput)
    .output(connectedPage)
    .query(async ({ ctx: { request }, input }) => {
      const { space_id: spaceId, server_id: serverId, limit, cursor } = input;
      const page = await request.inContext(spaceId, (ctx) =>
        listConnections(ctx, { serverId, limit, cursor: cursor ?? null }),
      );
      return toPage({ ...page, items: page.items.map(presentConnected) });
    }),
});
