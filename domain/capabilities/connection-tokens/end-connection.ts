import type { EntityManager } from '@mikro-orm/postgresql';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { rebuildActor } from '#domain/identity/principals/rebuild-actor.ts';
import { connectionEvent } from '#domain/capabilities/connections/attempt-event.ts';
import type { AuthorizationFailure } from '#domain/capabilities/connections/authorization-servers.ts';
import type { ConnectionParts } from '#domain/capabilities/connections/connection-parts.ts';
import { Connection } from '#domain/capabilities/connections/connection.entity.ts';
import { pauseAfter } from './refresh-schedule.ts';

type Parts = Pick<ConnectionParts, 'unitOfWork'>;

/** The tokens that the caller has seen. */
export interface SeenTokens {
  tenantId: string;
  id: string;
  generation: number;
  /** Of the caller's refresh: a refresher that was overtaken ends nothing; null: without a refresh. */
  nonce: string | null;
}

type EndStatus = 'auth_expired' | 'client_rejected';

/**
 * Ends a connection whose refresh token its authorization server honours no more, with its event, and erases the tokens.
 * @returns false where another one has changed the connection
 */
export function endConnection(parts: Parts, seen: SeenTokens): Promise<boolean> {
  return change(parts, seen, (_now, { generation }) => ({
    status: 'auth_expired',
    tokens: null,
    generation: generation + 1,
  }));
}

/**
 * Notes a refresh that failed: the next one waits. With `status` a person sees it, with its event. The tokens stay, for
 * the next try and for their revocation.
 * @returns false where another one has changed the connection
 */
export function noteFailure(
  parts: Parts,
  seen: SeenTokens,
  {
    failure,
    status,
  }: { failure: Pick<AuthorizationFailure, 'code' | 'retryAfterMs'>; status: EndStatus | null },
): Promise<boolean> {
  return change(parts, seen, (now, { refreshFailures }) => ({
    ...(status === null ? {} : { status }),
    refreshFailures: refreshFailures + 1,
    refreshAfter: new Date(now.getTime() + pauseAfter(refreshFailures, failure)),
  }));
}

type Changes = Partial<
  Pick<Connection, 'tokens' | 'generation' | 'refreshFailures' | 'refreshAfter'> & { status: EndStatus }
>;

async function change(
  { unitOfWork }: Parts,
  { tenantId, id, generation, nonce }: SeenTokens,
  changesOf: (now: Date, connection: Connection) => Changes,
): Promise<boolean> {
  return unitOfWork.inTenant(tenantId, async (em) => {
    const now = await databaseNow(em);
    // A process that was lost has left a lease whose time is over: it holds nothing.
    const lease =
      nonce === null ? { $or: [{ leaseNonce: null }, { leaseUntil: { $lte: now } }] } : { leaseNonce: nonce };
    const where = { id, generation, withdrawnAt: null, ...lease };
    const before = await em.findOne(Connection, where);
    if (before === null) {
      return false;
    }
    const changes = changesOf(now, before);
    const changed = await em.nativeUpdate(Connection, where, {
      ...changes,
      leaseNonce: null,
      leaseUntil: null,
      updatedAt: now,
    });
    if (changed > 0 && changes.status !== undefined && changes.status !== before.status) {
      await record(em, before, changes.status);
    }
    return changed > 0;
  });
}

async function record(em: EntityManager, connection: Connection, status: EndStatus): Promise<void> {
  const { tenantId, connectedBy: principalId } = connection;
  const actor = await rebuildActor(em, { tenantId, principalId });
  await recordEvent(em, actor, connectionEvent('security.mcp_auth_failed', connection, status));
}
