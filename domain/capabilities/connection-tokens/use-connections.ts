import { LockMode } from '@mikro-orm/core';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { retryUnavailable } from '#domain/foundation/persistence/retry-unavailable.ts';
import { rebuildActor } from '#domain/identity/principals/rebuild-actor.ts';
import type { HolderIdentity } from '#domain/capabilities/connections/find-connection.ts';
import { connectionEvent } from '#domain/capabilities/connections/attempt-event.ts';
import type { SourceParts } from '#domain/capabilities/connections/connection-parts.ts';
import type {
  ConnectionSource,
  UsableConnection,
} from '#domain/capabilities/connections/connection-source.ts';
import { isUsable, openConnection, toUsable } from '#domain/capabilities/connections/connection-state.ts';
import { Connection } from '#domain/capabilities/connections/connection.entity.ts';
import { noteFailure } from './end-connection.ts';
import { refreshConnection } from './refresh-connection.ts';
import { scheduleOf } from './refresh-schedule.ts';
import { boundedUnion } from '#domain/capabilities/connections/scopes.ts';

/** Max time for which a database that is unavailable delays a renewal. */
const renewalMs = 15_000;

/** Resolves the tokens of connections; each use reads the row, so that a withdrawal takes effect at the next use. */
export function useConnections(parts: SourceParts): ConnectionSource {
  const { unitOfWork, secrets } = parts;
  return {
    read: async (identity, retryRead = (read) => read()) => {
      const found = await retryRead(() =>
        unitOfWork.inTenant(identity.tenantId, async (em) => {
          const opened = await openConnection({ em, secrets }, identity);
          return opened === null
            ? null
            : { seen: toUsable(opened), ...scheduleOf(opened.connection, await databaseNow(em)) };
        }),
      );
      if (found === null) {
        return null;
      }
      const { seen, isDue, stillValid } = found;
      return isDue ? refreshConnection(parts, identity, { seen, stillValid, retryRead }) : seen;
    },
    renew: (identity, refused) =>
      refreshConnection(parts, identity, {
        seen: refused,
        stillValid: false,
        retryRead: (read) => retryUnavailable(read, renewalMs),
      }),
    refuse: async ({ tenantId }, { connectionId: id, generation }) => {
      const failure = { code: 'grant_rejected', retryAfterMs: null } as const;
      const seen = { tenantId, id, generation, nonce: null };
      await noteFailure(parts, seen, { failure, status: 'auth_expired' });
    },
    needScope: (identity, refused, scope) => noteScope(parts, identity, refused, scope),
  };
}

/**
 * The next connection asks for the union of what was granted and what was needed. A refresh meanwhile grants no more than
 * before. A connection that has ended for another reason keeps that.
 */
async function noteScope(
  { unitOfWork }: SourceParts,
  { tenantId }: HolderIdentity,
  { connectionId: id }: UsableConnection,
  scope: string | null,
): Promise<void> {
  await unitOfWork.inTenant(tenantId, async (em) => {
    const lock = { lockMode: LockMode.PESSIMISTIC_WRITE };
    const connection = await em.findOne(Connection, { id, withdrawnAt: null }, lock);
    if (connection === null) {
      return;
    }
    const { connectedBy: principalId, status } = connection;
    await em.nativeUpdate(
      Connection,
      { id },
      {
        status: isUsable(connection) ? 'scope_required' : status,
        requiredScope: boundedUnion(scope, connection.requiredScope),
      },
    );
    if (status === 'connected') {
      const actor = await rebuildActor(em, { tenantId, principalId });
      const event = connectionEvent('security.mcp_auth_failed', connection, 'scope_required');
      await recordEvent(em, actor, event);
    }
  });
}
