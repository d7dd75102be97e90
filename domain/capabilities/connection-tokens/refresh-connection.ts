import { setTimeout as sleep } from 'node:timers/promises';
import { hitFailpoint } from '#domain/foundation/kernel/failpoint.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { retryUnavailable } from '#domain/foundation/persistence/retry-unavailable.ts';
import type { RetryRead } from '#domain/capabilities/credentials/credential-source.ts';
import type { HolderIdentity } from '#domain/capabilities/connections/find-connection.ts';
import { AuthorizationFailure, requestMs } from '#domain/capabilities/connections/authorization-servers.ts';
import type { SourceParts } from '#domain/capabilities/connections/connection-parts.ts';
import {
  ConnectionUnavailable,
  type UsableConnection,
} from '#domain/capabilities/connections/connection-source.ts';
import { noteFailure, type SeenTokens } from './end-connection.ts';
import { afterFailure, type Outcome } from './failed-refresh.ts';
import { claimRefresh, graceMs, leaseMs, type Lease } from './refresh-lease.ts';
import { requestRefresh } from './request-refresh.ts';
import { revokeIssued } from '#domain/capabilities/connections/revoke-issued.ts';
import { saveRefreshed } from './save-refreshed.ts';

const patienceMs = leaseMs + graceMs + requestMs;
const [firstLookMs, lastLookMs] = [100, 1_000];

interface Refresh {
  /** The tokens that are to be replaced. */
  seen: UsableConnection;
  /** Whether they can be used if the authorization server does not answer. */
  stillValid: boolean;
  /** Omitted: the database is asked once. */
  retryRead?: RetryRead;
}

/** A lease whose time is over, and since when this refresher has looked at it. */
interface Overdue {
  nonce: string | null;
  since: number;
}

/**
 * Refreshes tokens over all processes once: a lease in the row names the refresher, and its result counts only if the
 * row still has the generation that it began with. No transaction is open during the request.
 * @returns null where a person has to connect again
 * @throws ConnectionUnavailable
 */
export async function refreshConnection(
  parts: SourceParts,
  identity: HolderIdentity,
  { seen, stillValid, retryRead = (read) => read() }: Refresh,
): Promise<UsableConnection | null> {
  const until = performance.now() + patienceMs;
  const overdue: Overdue = { nonce: null, since: 0 };
  for (let lookMs = firstLookMs; ; lookMs = Math.min(lookMs * 2, lastLookMs)) {
    const nonce = newId();
    const lost = performance.now() - overdue.since > graceMs ? overdue.nonce : null;
    const claim = await retryRead(() => claimRefresh(parts, identity, { seen, nonce, lost }));
    const outcome =
      claim.kind === 'claimed'
        ? await runRefresh(parts, identity, { lease: claim.lease, stillValid })
        : claim;
    switch (outcome.kind) {
      case 'gone':
        return null;
      case 'current':
        return outcome.usable;
      case 'unrefreshable':
      case 'without_client':
        if (!stillValid || outcome.kind === 'without_client') {
          await noteUnrefreshable(parts, { ...tokensOf(identity, seen), id: outcome.id }, outcome.kind);
        }
        return stillValid ? seen : null;
      case 'refused':
        return stillValid ? seen : null;
      case 'paused':
        if (!stillValid && outcome.isRefused) {
          return null;
        }
        return orUnavailable(seen, { stillValid, because: 'refresh_paused' });
      case 'unavailable':
        return orUnavailable(seen, { stillValid, because: outcome.code });
      case 'held':
      case 'overdue':
      case 'overtaken':
        if (stillValid && outcome.kind !== 'overtaken') {
          return seen;
        }
        if (outcome.kind === 'overdue' && outcome.nonce !== overdue.nonce) {
          Object.assign(overdue, { nonce: outcome.nonce, since: performance.now() });
        }
        if (performance.now() > until) {
          throw new ConnectionUnavailable('refresh_held');
        }
        await sleep(lookMs);
    }
  }
}

function orUnavailable(
  seen: UsableConnection,
  { stillValid, because }: { stillValid: boolean; because: string },
): UsableConnection {
  if (!stillValid) {
    throw new ConnectionUnavailable(because);
  }
  return seen;
}

function tokensOf({ tenantId }: HolderIdentity, { connectionId, generation }: UsableConnection): SeenTokens {
  return { tenantId, id: connectionId, generation, nonce: null };
}

async function noteUnrefreshable(
  parts: SourceParts,
  seen: SeenTokens,
  kind: 'unrefreshable' | 'without_client',
): Promise<void> {
  await noteFailure(
    parts,
    seen,
    kind === 'unrefreshable'
      ? { failure: { code: 'grant_rejected', retryAfterMs: null }, status: 'auth_expired' }
      : { failure: { code: 'client_rejected', retryAfterMs: null }, status: 'client_rejected' },
  );
}

async function runRefresh(
  parts: SourceParts,
  identity: HolderIdentity,
  { lease, stillValid }: { lease: Lease; stillValid: boolean },
): Promise<Outcome> {
  const answer = await requestRefresh(parts, identity.tenantId, lease);
  if (answer instanceof AuthorizationFailure) {
    return retryUnavailable(() => afterFailure(parts, identity, { lease, stillValid }, answer), requestMs);
  }
  if (answer === 'overtaken') {
    return { kind: 'overtaken' };
  }
  hitFailpoint('refresh.before_commit');
  const saved = await saveRefreshed(parts, identity, lease, answer);
  switch (saved.kind) {
    case 'saved':
      return { kind: 'current', usable: saved.usable };
    case 'overtaken':
      return saved;
    case 'withdrawn':
      await revokeIssued(parts, lease.grant, answer);
      // The owner may have connected again meanwhile, at another authorization server or with another client.
      return { kind: 'overtaken' };
  }
}
