import type { EntityManager } from '@mikro-orm/postgresql';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { Credential } from '#domain/capabilities/credentials/credential.entity.ts';
import type { HolderIdentity } from '#domain/capabilities/connections/find-connection.ts';
import { requestMs, type Grant } from '#domain/capabilities/connections/authorization-servers.ts';
import type { SourceParts } from '#domain/capabilities/connections/connection-parts.ts';
import type { UsableConnection } from '#domain/capabilities/connections/connection-source.ts';
import { isUsable, toUsable } from '#domain/capabilities/connections/connection-state.ts';
import { openTokens, type ConnectionTokens } from '#domain/capabilities/connections/connection-tokens.ts';
import { Connection } from '#domain/capabilities/connections/connection.entity.ts';
import { findConnection } from '#domain/capabilities/connections/find-connection.ts';
import { openClient } from '#domain/capabilities/connections/open-client.ts';

/** Longer than the request, so that of two refreshers the second begins when the first has ended. */
export const leaseMs = requestMs + 5_000;
/**
 * For which a refresher looks at a lease whose time is over before it takes it. Its holder may have an answer that it
 * cannot store while the database is unavailable, for both of them; then it stores first. Longer than the bound of a
 * statement that gets no answer, and the pause before its repetition.
 */
export const graceMs = 8_000;

/** The right to refresh a connection, held by one process. */
export interface Lease {
  id: string;
  nonce: string;
  generation: number;
  ownerId: string | null;
  clientId: string | null;
  clientCredentialId: string | null;
  refreshToken: string;
  grant: Grant;
}

export type Claim =
  | { kind: 'gone' }
  | { kind: 'held' }
  /** The time of the lease is over, but its holder has not been given `graceMs`. */
  | { kind: 'overdue'; nonce: string }
  /** A refresh failed not long ago. `isRefused`: by the authorization server, which a person has to help. */
  | { kind: 'paused'; isRefused: boolean }
  | { kind: 'current'; usable: UsableConnection }
  | { kind: 'unrefreshable' | 'without_client'; id: string }
  | { kind: 'claimed'; lease: Lease };

/**
 * Takes the lease if the connection still has the tokens that the caller has seen. Safe to repeat with its nonce.
 * `lost`: the nonce of another refresher that was given its time.
 */
export async function claimRefresh(
  { unitOfWork, secrets }: SourceParts,
  identity: HolderIdentity,
  { seen, nonce, lost }: { seen: UsableConnection; nonce: string; lost: string | null },
): Promise<Claim> {
  return unitOfWork.inTenant(identity.tenantId, async (em) => {
    const work = { em, secrets };
    const connection = await findConnection(em, identity);
    if (connection === null || connection.tokens == null) {
      return { kind: 'gone' };
    }
    const { id, generation } = connection;
    const isSeen = id === seen.connectionId && generation === seen.generation;
    const now = await databaseNow(em);
    const holder = isSeen ? holderOf(connection, nonce) : null;
    if (holder !== null && holder.until > now) {
      return { kind: 'held' };
    }
    if (holder !== null && holder.nonce !== lost) {
      return { kind: 'overdue', nonce: holder.nonce };
    }
    if (isSeen && (await isPaused(em, connection, now))) {
      return { kind: 'paused', isRefused: !isUsable(connection) };
    }
    const tokens = await openTokens(work, connection);
    if (tokens === null) {
      return { kind: 'gone' };
    }
    if (!isSeen) {
      return connection.status !== 'auth_expired'
        ? { kind: 'current', usable: toUsable({ connection, tokens }) }
        : { kind: 'gone' };
    }
    if (tokens.refreshToken === null) {
      return { kind: 'unrefreshable', id };
    }
    const client = await openClient(work, connection, connection.target);
    if (client === null) {
      return { kind: 'without_client', id };
    }
    const free = [{ leaseUntil: null }, { leaseUntil: { $lte: now } }, { leaseNonce: nonce }];
    const taken = await em.nativeUpdate(
      Connection,
      { id, generation, withdrawnAt: null, $or: free },
      { leaseNonce: nonce, leaseUntil: new Date(now.getTime() + leaseMs) },
    );
    return taken === 0
      ? { kind: 'held' }
      : { kind: 'claimed', lease: leaseOf(connection, { nonce, client, tokens }) };
  });
}

/** Prolongs the lease for another request. @returns false where another refresher has taken it */
export async function extendLease(
  { unitOfWork }: Pick<SourceParts, 'unitOfWork'>,
  tenantId: string,
  { id, generation, nonce }: Lease,
): Promise<boolean> {
  const kept = await unitOfWork.inTenant(tenantId, async (em) =>
    em.nativeUpdate(
      Connection,
      { id, generation, leaseNonce: nonce, withdrawnAt: null },
      { leaseUntil: new Date((await databaseNow(em)).getTime() + leaseMs) },
    ),
  );
  return kept > 0;
}

/** Another refresher that has taken the lease. */
function holderOf(
  { leaseNonce, leaseUntil }: Connection,
  nonce: string,
): { nonce: string; until: Date } | null {
  return leaseNonce == null || leaseUntil == null || leaseNonce === nonce
    ? null
    : { nonce: leaseNonce, until: leaseUntil };
}

/** A stored client that was changed since is tried at once. */
async function isPaused(
  em: EntityManager,
  { status, refreshAfter, updatedAt, clientCredentialId }: Connection,
  now: Date,
): Promise<boolean> {
  if (refreshAfter == null || refreshAfter <= now) {
    return false;
  }
  const credential =
    status === 'client_rejected' && clientCredentialId != null
      ? await em.findOne(Credential, { id: clientCredentialId })
      : null;
  return credential === null || credential.rotatedAt <= updatedAt;
}

function leaseOf(
  connection: Connection,
  { nonce, client, tokens }: { nonce: string; client: Grant['client']; tokens: ConnectionTokens },
): Lease {
  return {
    id: connection.id,
    nonce,
    generation: connection.generation,
    ownerId: connection.ownerId ?? null,
    clientId: connection.clientId ?? null,
    clientCredentialId: connection.clientCredentialId ?? null,
    refreshToken: tokens.refreshToken ?? '',
    grant: { target: connection.target, client, dpopKey: tokens.dpopKey },
  };
}
