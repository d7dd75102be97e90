import { callLease, endLease, renewLease } from '#domain/responses/calls/call-lease.ts';
import type { CallKey } from '#domain/responses/record/turn-key.ts';
import type { Database } from '#domain/foundation/persistence/database.ts';
import { commitWithRetry } from './commit-with-retry.ts';

/** The lease of a call, as seen by the attempt that holds it. */
export interface CallHold {
  /** Whether this attempt still holds the call: checked directly before the call is sent. */
  confirm(): Promise<boolean>;
}

/** Max age of a renewal that still counts as proof of the lease. */
const trustedMs = (callLease.seconds * 1_000) / 2;

/**
 * Renews the lease of a call while `work` runs, on a timer that is independent of Temporal's view of this attempt. A
 * failed attempt releases the call, so that the next one need not wait for the lease to expire.
 */
export async function withCallLease<T>(
  database: Database,
  { key, nonce, since }: { key: CallKey; nonce: string; since: number },
  work: (hold: CallHold) => Promise<T>,
): Promise<T> {
  let confirmedAt = since;
  const renew = async () => {
    const askedAt = performance.now();
    const held = await renewLease(database, key, nonce);
    if (held) {
      confirmedAt = askedAt;
    }
    return held;
  };
  // The next renewal follows a failed one; the lease is checked before it matters.
  const timer = setInterval(() => void renew().catch(() => undefined), callLease.renewEveryMs);
  try {
    return await work({
      confirm: async () => performance.now() - confirmedAt < trustedMs || (await commitWithRetry(renew)),
    });
  } catch (error) {
    clearInterval(timer);
    await endLease(database, key, nonce).catch(() => undefined);
    throw error;
  } finally {
    clearInterval(timer);
  }
}
