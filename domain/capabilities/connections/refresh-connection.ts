import { setTimeout as sleep } from 'node:timers/promises';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { hitFailpoint } from '#domain/foundation/kernel/failpoint.ts';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import type { ConnectionIdentity } from '#domain/capabilities/tools/tool-server.ts';
import { AuthorizationFailure, type Grant, type IssuedTokens } from './authorization-servers.ts';
import { rejectClient } from './choose-client.ts';
import type { SourceParts } from './connection-parts.ts';
import { ConnectionUnavailable, type UsableConnection } from './connection-source.ts';
import { isUsable, openConnection, toUsable, type OpenedConnection } from './connection-state.ts';
import { sealTokens } from './connection-tokens.ts';
import { Connection } from './connection.entity.ts';
import { endConnection } from './end-connection.ts';
import { openClient } from './open-client.ts';

/** Longer than the request, so that of two refreshers the second begins when the first has ended. */
const leaseMs = 30_000;
const requestMs = 15_000;
const lookEveryMs = 100;
const patienceMs = leaseMs + requestMs;

interface Refresh {
  /** The tokens that are to be replaced. */
  seen: UsableConnection;
  /** Whether they can be used if the authorization server does not answer. */
  stillValid: boolean;
  /** An answer was lost before: the same refresh token is sent for the second and last time. */
  isRepeat?: boolean;
}

type Claim =
  | { kind: 'gone' }
  | { kind: 'held' }
  | { kind: 'current'; usable: UsableConnection }
  | { kind: 'unrefreshable'; id: string }
  | { kind: 'claimed'; lease: Lease };

interface Lease {
  id: string;
  nonce: string;
  generation: number;
  ownerId: string | null;
  clientId: string | null;
  refreshToken: string;
  grant: Grant;
}

/**
 * Refreshes tokens over all processes once: a lease in the row names the refresher, and its result counts only if the
 * row still has the generation that it began with. No transaction is open during the request.
 * @returns null where a person has to connect again
 * @throws ConnectionUnavailable
 */
export async function refreshConnection(
  parts: SourceParts,
  identity: ConnectionIdentity,
  refresh: Refresh,
): Promise<UsableConnection | null> {
  const { seen, stillValid } = refresh;
  const until = performance.now() + patienceMs;
  for (;;) {
    const claim = await claimRefresh(parts, identity, seen);
    switch (claim.kind) {
      case 'gone':
        return null;
      case 'current':
        return claim.usable;
      case 'unrefreshable':
        return stillValid
          ? seen
          : endConnection(
              parts,
              { tenantId: identity.tenantId, id: claim.id, generation: seen.generation, nonce: null },
              'auth_expired',
            );
      case 'claimed':
        return runRefresh(parts, identity, claim.lease, refresh);
      case 'held':
        if (stillValid) {
          return seen;
        }
        if (performance.now() > until) {
          throw new ConnectionUnavailable('refresh_held');
        }
        await sleep(lookEveryMs);
    }
  }
}

async function claimRefresh(
  { unitOfWork, secrets }: SourceParts,
  identity: ConnectionIdentity,
  seen: UsableConnection,
): Promise<Claim> {
  return unitOfWork.inTenant(identity.tenantId, async (em) => {
    const work = { em, secrets };
    const opened = await openConnection(work, identity);
    if (opened === null || !isUsable(opened.connection)) {
      return { kind: 'gone' };
    }
    const { connection, tokens } = opened;
    if (connection.id !== seen.connectionId || connection.generation !== seen.generation) {
      return { kind: 'current', usable: toUsable(opened) };
    }
    const client = await openClient(work, connection, connection.target);
    if (tokens.refreshToken === null || client === null) {
      return { kind: 'unrefreshable', id: connection.id };
    }
    const now = await databaseNow(em);
    const nonce = newId();
    const { id, generation } = connection;
    const taken = await em.nativeUpdate(
      Connection,
      { id, generation, withdrawnAt: null, $or: [{ leaseUntil: null }, { leaseUntil: { $lte: now } }] },
      {
        leaseNonce: nonce,
        leaseUntil: new Date(now.getTime() + leaseMs),
      },
    );
    return taken === 0 ? { kind: 'held' } : { kind: 'claimed', lease: leaseOf(opened, { nonce, client }) };
  });
}

function leaseOf(
  { connection, tokens }: OpenedConnection,
  { nonce, client }: { nonce: string; client: Grant['client'] },
): Lease {
  return {
    id: connection.id,
    nonce,
    generation: connection.generation,
    ownerId: connection.ownerId ?? null,
    clientId: connection.clientId ?? null,
    refreshToken: tokens.refreshToken ?? '',
    grant: { target: connection.target, client, dpopKey: tokens.dpopKey },
  };
}

async function runRefresh(
  parts: SourceParts,
  identity: ConnectionIdentity,
  lease: Lease,
  refresh: Refresh,
): Promise<UsableConnection | null> {
  const { tenantId } = identity;
  let issued: IssuedTokens;
  try {
    const signal = AbortSignal.timeout(requestMs);
    issued = await parts.authorizationServers.refresh(lease.grant, lease.refreshToken, signal);
  } catch (error) {
    if (!(error instanceof AuthorizationFailure)) {
      throw error;
    }
    return afterFailure(parts, identity, lease, { ...refresh, error });
  }
  hitFailpoint('refresh.before_commit');
  const saved = await saveTokens(parts, tenantId, lease, issued);
  if (saved !== null) {
    return saved;
  }
  // Withdrawn or replaced meanwhile: what was issued belongs to nobody.
  const token = issued.refreshToken ?? issued.accessToken;
  const kind = issued.refreshToken === null ? 'access_token' : 'refresh_token';
  await parts.authorizationServers
    .revoke(lease.grant, { token, kind }, AbortSignal.timeout(requestMs))
    .catch(() => undefined);
  return null;
}

async function saveTokens(
  { unitOfWork, secrets }: SourceParts,
  tenantId: string,
  lease: Lease,
  issued: IssuedTokens,
): Promise<UsableConnection | null> {
  const { id, nonce, generation, ownerId, grant } = lease;
  const { accessToken, tokenType, expiresAt } = issued;
  const { dpopKey } = grant;
  // A server that rotates nothing keeps the refresh token good.
  const refreshToken = issued.refreshToken ?? lease.refreshToken;
  return unitOfWork.inTenant(tenantId, async (em) => {
    // The key of a person that is being deleted is gone.
    const held = await em.count(Connection, { id, generation, leaseNonce: nonce, withdrawnAt: null });
    if (held === 0) {
      return null;
    }
    const sealed = await sealTokens(
      { em, secrets },
      { tenantId, id, ownerId },
      { accessToken, tokenType, refreshToken, dpopKey },
    );
    const saved = await em.nativeUpdate(
      Connection,
      { id, generation, leaseNonce: nonce, withdrawnAt: null },
      {
        tokens: sealed,
        expiresAt,
        generation: generation + 1,
        leaseNonce: null,
        leaseUntil: null,
        ...(issued.scope === null ? {} : { grantedScope: issued.scope }),
        updatedAt: await databaseNow(em),
      },
    );
    return saved === 0
      ? null
      : { connectionId: id, generation: generation + 1, accessToken, tokenType, dpopKey };
  });
}

/** Only the authorization server's own refusal ends a connection: a server that does not answer may honour it later. */
async function afterFailure(
  parts: SourceParts,
  identity: ConnectionIdentity,
  lease: Lease,
  { error, ...refresh }: Refresh & { error: AuthorizationFailure },
): Promise<UsableConnection | null> {
  const { tenantId } = identity;
  const { id, generation, nonce } = lease;
  if (error.code === 'client_rejected') {
    await rejectClient(parts, { tenantId, clientId: lease.clientId });
    return endConnection(parts, { tenantId, id, generation, nonce }, 'client_rejected');
  }
  if (error.code === 'grant_rejected') {
    await endConnection(parts, { tenantId, id, generation, nonce }, 'auth_expired');
    // Where another refresher has overtaken this one, its result counts.
    return refreshConnection(parts, identity, refresh);
  }
  await parts.unitOfWork.inTenant(tenantId, (em) =>
    em.nativeUpdate(
      Connection,
      { id, generation, leaseNonce: nonce },
      { leaseNonce: null, leaseUntil: null },
    ),
  );
  if (error.sent && error.code === 'unreachable' && refresh.isRepeat !== true) {
    return refreshConnection(parts, identity, { ...refresh, isRepeat: true });
  }
  if (refresh.stillValid) {
    return refresh.seen;
  }
  throw new ConnectionUnavailable(error.code);
}
