import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { lockServer } from './find-server.ts';

/** Disconnects a tool server. Planned calls of running responses are not made any more. */
export async function removeServer(ctx: Context, input: { serverId: string }): Promise<void> {
  authorize(ctx.caller, 'mcp_servers.delete');
  const { server } = await lockServer(ctx, input.serverId);
  const { id, spaceId, slug } = server;
  await ctx.em.remove(server).flush();
  await recordEvent(ctx.em, ctx.caller, {
    type: 'space.mcp_server_removed',
    resource: { type: 'mcp_server', id },
    metadata: { space_id: spaceId, slug },
  });
}
