import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { rebuildActor } from '#domain/identity/principals/rebuild-actor.ts';
import type { ConnectionIdentity } from '#domain/capabilities/tools/tool-server.ts';
import { connectionEvent } from './attempt-event.ts';
import type { SourceParts } from './connection-parts.ts';
import type { ConnectionSource, UsableConnection } from './connection-source.ts';
import { isUsable, openConnection, toUsable } from './connection-state.ts';
import { Connection } from './connection.entity.ts';
import { endConnection } from './end-connection.ts';
import { refreshConnection } from './refresh-connection.ts';
import { unionOf } from './scopes.ts';

/** A token with less time left may expire on its way. */
const marginMs = 60_000;

/** Resolves the tokens of connections; each use reads the row, so that a withdrawal takes effect at the next use. */
export function useConnections(parts: SourceParts): ConnectionSource {
  const { unitOfWork, secrets } = parts;
  return {
    read: async (identity, retryRead = (read) => read()) => {
      const found = await retryRead(() =>
        unitOfWork.inTenant(identity.tenantId, async (em) => {
          const opened = await openConnection({ em, secrets }, identity);
          const now = await databaseNow(em);
          const leftMs =
            (opened?.connection.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY) - now.getTime();
          return opened === null || !isUsable(opened.connection) ? null : { opened, leftMs };
        }),
      );
      if (found === null) {
        return null;
      }
      const usable = toUsable(found.opened);
      return found.leftMs >= marginMs
        ? usable
        : refreshConnection(parts, identity, { seen: usable, stillValid: found.leftMs > 0 });
    },
    renew: (identity, refused) => refreshConnection(parts, identity, { seen: refused, stillValid: false }),
    refuse: async ({ tenantId }, { connectionId: id, generation }) => {
      await endConnection(parts, { tenantId, id, generation, nonce: null }, 'auth_expired');
    },
    needScope: (identity, refused, scope) => noteScope(parts, identity, refused, scope),
  };
}

/** Max characters of the scopes that calls have needed. */
const maxScope = 4_000;

function bounded(union: string | null, latest: string | null): string | null {
  return (union?.length ?? 0) > maxScope ? latest : union;
}

/** The next connection asks for the union of what was granted and what was needed. */
async function noteScope(
  { unitOfWork }: SourceParts,
  { tenantId }: ConnectionIdentity,
  { connectionId: id, generation }: UsableConnection,
  scope: string | null,
): Promise<void> {
  await unitOfWork.inTenant(tenantId, async (em) => {
    const connection = await em.findOne(Connection, { id, generation, withdrawnAt: null });
    if (connection === null) {
      return;
    }
    const { connectedBy: principalId } = connection;
    const changed = await em.nativeUpdate(
      Connection,
      { id, generation, withdrawnAt: null },
      { status: 'scope_required', requiredScope: bounded(unionOf(connection.requiredScope, scope), scope) },
    );
    if (changed > 0 && connection.status !== 'scope_required') {
      const actor = await rebuildActor(em, { tenantId, principalId });
      const event = connectionEvent('security.mcp_auth_failed', connection, 'scope_required');
      await recordEvent(em, actor, event);
    }
  });
}
