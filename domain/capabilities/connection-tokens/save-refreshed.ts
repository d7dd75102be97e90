import { LockMode } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { retryUnavailable } from '#domain/foundation/persistence/retry-unavailable.ts';
import type { HolderIdentity } from '#domain/capabilities/connections/find-connection.ts';
import type { IssuedTokens } from '#domain/capabilities/connections/authorization-servers.ts';
import type { SourceParts } from '#domain/capabilities/connections/connection-parts.ts';
import type { UsableConnection } from '#domain/capabilities/connections/connection-source.ts';
import { sealTokens } from '#domain/capabilities/connections/connection-tokens.ts';
import { Connection } from '#domain/capabilities/connections/connection.entity.ts';
import { findConnection } from '#domain/capabilities/connections/find-connection.ts';
import type { Lease } from './refresh-lease.ts';
import { lifetimeOf, type TokenLifetime } from '#domain/capabilities/connections/token-lifetime.ts';

/** The answer is the only copy of a rotated token: while no process reaches the database, none can overtake this one. */
const patienceMs = 60_000;

export type Saved =
  | { kind: 'saved'; usable: UsableConnection }
  /** Another refresher, or another connection of the owner, came first: what it stored is used. */
  | { kind: 'overtaken' }
  /** The connection was withdrawn: what was issued belongs to nobody. */
  | { kind: 'withdrawn' };

/** Stores refreshed tokens if the connection still has those that they replace. */
export async function saveRefreshed(
  parts: SourceParts,
  identity: HolderIdentity,
  lease: Lease,
  issued: IssuedTokens,
): Promise<Saved> {
  const lifetime = lifetimeOf(issued);
  return retryUnavailable(
    () =>
      parts.unitOfWork.inTenant(identity.tenantId, (em) =>
        save(em, parts, { identity, lease, issued, lifetime }),
      ),
    patienceMs,
  );
}

async function save(
  em: EntityManager,
  { secrets }: SourceParts,
  {
    identity,
    lease,
    issued,
    lifetime,
  }: { identity: HolderIdentity; lease: Lease; issued: IssuedTokens; lifetime: TokenLifetime },
): Promise<Saved> {
  const { id, generation, ownerId, grant } = lease;
  const { accessToken, tokenType } = issued;
  const { dpopKey } = grant;
  if (ownerId !== null && !(await lockOwner(em, ownerId))) {
    return { kind: 'withdrawn' };
  }
  const lock = { lockMode: LockMode.PESSIMISTIC_WRITE, refresh: true } as const;
  const connection = await em.findOne(Connection, { id }, lock);
  if (connection === null || connection.withdrawnAt != null) {
    return { kind: (await isReplaced(em, identity, lease)) ? 'overtaken' : 'withdrawn' };
  }
  // The lease may have passed to another refresher: until that one stores its own tokens, these are the newest.
  if (connection.generation !== generation) {
    return { kind: 'overtaken' };
  }
  // A server that rotates nothing keeps the refresh token good.
  const refreshToken = issued.refreshToken ?? lease.refreshToken;
  const now = await databaseNow(em);
  await em.nativeUpdate(
    Connection,
    { id },
    {
      status: connection.status === 'scope_required' ? 'scope_required' : 'connected',
      tokens: await sealTokens(
        { em, secrets },
        { tenantId: identity.tenantId, id, ownerId },
        { accessToken, tokenType, refreshToken, dpopKey },
      ),
      expiresAt: lifetime.expiresAt(now),
      tokenLifetime: lifetime.seconds,
      generation: generation + 1,
      leaseNonce: null,
      leaseUntil: null,
      refreshFailures: 0,
      refreshAfter: null,
      ...(issued.scope === null ? {} : { grantedScope: issued.scope }),
      updatedAt: now,
    },
  );
  const usable = { connectionId: id, generation: generation + 1, accessToken, tokenType, dpopKey };
  return { kind: 'saved', usable };
}

/** Before the connection, in the order of a deletion, which erases the key that the tokens are sealed with. */
async function lockOwner(em: EntityManager, ownerId: string): Promise<boolean> {
  const living = await em.execute(
    'select from principals where id = ? and deleted_at is null for key share',
    [ownerId],
  );
  return living.length > 0;
}

/** To revoke what was issued to the same client would, at some servers, end what the new connection was granted. */
async function isReplaced(em: EntityManager, identity: HolderIdentity, lease: Lease): Promise<boolean> {
  const present = await findConnection(em, identity);
  return (
    present !== null &&
    present.issuer === lease.grant.target.issuer &&
    (present.clientId ?? null) === lease.clientId &&
    (present.clientCredentialId ?? null) === lease.clientCredentialId
  );
}
