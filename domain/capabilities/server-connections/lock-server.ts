import type { Context } from '#domain/foundation/access/context.ts';
import { loadCaller } from '#domain/foundation/access/load-caller.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { spaceOf } from '#domain/foundation/access/space-of.ts';
import { findCaller } from '#domain/identity/principals/find-principal.ts';
import { enqueueDiscovery } from '#domain/capabilities/tools/enqueue-discovery.ts';
import { lockServer } from '#domain/capabilities/tools/find-server.ts';
import { authorizeOwner } from '#domain/capabilities/connections/authorize-owner.ts';
import type { LockHolder } from '#domain/capabilities/connections/complete-authorization.ts';
import { ownerFor } from '#domain/capabilities/connections/find-connection.ts';
import { holderOf } from '#domain/capabilities/connections/read-connection.ts';

/** The holder of an attempt at a tool server. @throws `missing_permission`, `mcp_server_not_found` */
export const lockServerHolder: LockHolder = async (ctx, attempt) => {
  const { caller } = ctx;
  const ownerId = attempt.ownerId ?? null;
  authorize(caller, 'tools.execute');
  authorizeOwner(caller, ownerId);
  const { server } = await lockServer(ctx, attempt.serverId ?? '');
  if (ownerId !== null) {
    await requireMember(ctx);
  }
  return {
    shown: holderOf(server),
    key: ownerFor(server, caller.principalId) === ownerId ? { serverId: server.id, ownerId } : null,
    connected: async () => {
      // What a personal server offers is read with the first account; each later one is listed for its owner alone.
      await enqueueDiscovery(ctx, server, { accountOnly: ownerId !== null && server.status === 'connected' });
    },
  };
};

/**
 * The member may be removed at the same time: a removal that has committed refuses the connection, a removal that waits
 * finds and withdraws it. Locks in the order of removing a member and of deleting a principal. Tenant-wide roles connect
 * without a membership.
 */
async function requireMember(ctx: Context): Promise<void> {
  const { caller, em } = ctx;
  await findCaller(ctx);
  const spaceId = spaceOf(caller);
  const members = await em.execute(
    'select from space_members where space_id = ? and principal_id = ? for share',
    [spaceId, caller.principalId],
  );
  if (members.length === 0) {
    authorize(await loadCaller(em, caller, caller.origin, spaceId), 'tools.execute');
  }
}
