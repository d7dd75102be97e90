import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { DomainError, type ErrorDetail } from '#domain/foundation/kernel/errors.ts';
import { lockServer } from './find-server.ts';

type User = NonNullable<ErrorDetail['usedBy']>[number];

/** Max number of connectors that a refusal names. */
const maxNamed = 20;

/**
 * Disconnects a tool server. Planned calls of running responses are not made any more. Waits for concurrent transactions
 * that let a connector read it.
 * @throws `missing_permission`, `mcp_server_not_found`, `mcp_server_in_use` with the connectors that the caller may see
 */
export async function removeServer(ctx: Context, input: { serverId: string }): Promise<void> {
  authorize(ctx.caller, 'mcp_servers.delete');
  const { server } = await lockServer(ctx, input.serverId);
  const { id, spaceId, slug } = server;
  const users = await connectorsOf(ctx, id);
  if (users.length > 0) {
    throw new DomainError('mcp_server_in_use', 'Connectors read this tool server.', {
      usedBy: ctx.caller.granted.has('connectors.read') ? users : [],
    });
  }
  await ctx.em.remove(server).flush();
  await recordEvent(ctx.em, ctx.caller, {
    type: 'space.mcp_server_removed',
    resource: { type: 'mcp_server', id },
    metadata: { space_id: spaceId, slug },
  });
}

/** Queries the table by name, because the feature belongs to a later folder. */
function connectorsOf({ em }: Context, serverId: string): Promise<User[]> {
  return em.execute<User[]>(
    `select 'connector' as type, id, provider_slug as name from connectors where server_id = ?
     order by id limit ${maxNamed}`,
    [serverId],
  );
}
