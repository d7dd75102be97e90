import { authorize } from '#domain/foundation/access/policy.ts';
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
  return {
    shown: holderOf(server),
    key: ownerFor(server, caller.principalId) === ownerId ? { serverId: server.id, ownerId } : null,
    connected: async () => {
      // What a personal server offers is read with the first account; each later one is listed for its owner alone.
      await enqueueDiscovery(ctx, server, { accountOnly: ownerId !== null && server.status === 'connected' });
    },
  };
};
