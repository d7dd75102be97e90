import { deleted } from '#api/contract/common.ts';
import { serverEnvelope, serverPage } from '#api/contract/tools.ts';
import * as inputs from '#api/contract/procedures.ts';
import { presentServer, toConnectionSettings, toToolSettings } from '#api/present/tools.ts';
import { toPage } from '#api/present/page.ts';
import { listServers, readServer } from '#domain/capabilities/tools/read-servers.ts';
import { refreshServer } from '#domain/capabilities/tools/refresh-server.ts';
import { registerServer } from '#domain/capabilities/tools/register-server.ts';
import { removeServer } from '#domain/capabilities/tools/remove-server.ts';
import { updateServer } from '#domain/capabilities/tools/update-server.ts';
import { procedure, reads, router } from './trpc.ts';

const found = {
  none: 'the result is recorded: space.mcp_server_connected, _failed, mcp_tools_changed',
};

export const toolServers = router({
  list: procedure({ permission: 'mcp_servers.read', audit: reads })
    .input(inputs.spaceListInput)
    .output(serverPage)
    .query(async ({ ctx: { request }, input: { space_id: spaceId, limit, cursor } }) => {
      const page = await request.inContext(spaceId, (ctx) =>
        listServers(ctx, { limit, cursor: cursor ?? null }),
      );
      return toPage({ ...page, items: page.items.map(presentServer) });
    }),

  get: procedure({ permission: 'mcp_servers.read', audit: reads })
    .input(inputs.serverInput)
    .output(serverEnvelope)
    .query(async ({ ctx: { request }, input: { space_id: spaceId, server_id: serverId } }) => ({
      data: presentServer(await request.inContext(spaceId, (ctx) => readServer(ctx, { serverId }))),
    })),

  register: procedure({ permission: 'mcp_servers.create', audit: ['space.mcp_server_added'] })
    .input(inputs.registerServerInput)
    .output(serverEnvelope)
    .mutation(async ({ ctx: { request }, input }) => {
      const { auth } = input;
      const registered = await request.inContext(input.space_id, (ctx) =>
        registerServer(ctx, {
          slug: input.slug,
          displayName: input.display_name,
          transportType: input.transport_type,
          url: input.url,
          iconUrl: input.icon_url ?? null,
          credential: auth == null ? null : { ref: auth.credential_ref, header: auth.header ?? null },
          credentialId: input.credential_id ?? null,
          connection: toConnectionSettings(input),
          idempotency: null,
        }),
      );
      return { data: presentServer(registered) };
    }),

  update: procedure({
    permission: 'mcp_servers.update',
    audit: ['space.mcp_tools_updated', 'space.mcp_server_updated'],
  })
    .input(inputs.updateServerInput)
    .output(serverEnvelope)
    .mutation(async ({ ctx: { request }, input }) => {
      const updated = await request.inContext(input.space_id, (ctx) =>
        updateServer(ctx, {
          serverId: input.server_id,
          ...toToolSettings(input),
          displayName: input.display_name,
          iconUrl: input.icon_url,
          credentialId: input.credential_id,
          connection: toConnectionSettings(input),
          enabled: input.enabled,
        }),
      );
      return { data: presentServer(updated) };
    }),

  discover: procedure({ permission: 'mcp_servers.connect', audit: found })
    .input(inputs.serverInput)
    .output(serverEnvelope)
    .mutation(async ({ ctx: { request }, input: { space_id: spaceId, server_id: serverId } }) => ({
      data: presentServer(await request.inContext(spaceId, (ctx) => refreshServer(ctx, { serverId }))),
    })),

  remove: procedure({ permission: 'mcp_servers.delete', audit: ['space.mcp_server_removed'] })
    .input(inputs.serverInput)
    .output(deleted)
    .mutation(async ({ ctx: { request }, input: { space_id: spaceId, server_id: serverId } }) => {
      await request.inContext(spaceId, (ctx) => removeServer(ctx, { serverId }));
      return { data: { id: serverId, deleted: true as const } };
    }),
});
