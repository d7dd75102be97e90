import { callLease, endLease, renewLease } from '#domain/responses/calls/call-lease.ts';
import type { CallKey } from '#domain/responses/record/turn-key.ts';
import type { Database } from '#domain/foundation/persistence/database.ts';
import { commitWithRetry } from './commit-with-retry.ts';

/** What an attempt needs to know of the call that it holds. */
export interface CallHold {
  /** Whether the call is still this attempt's: asked before anything is sent. */
  confirm(): Promise<boolean>;
}

/** An answer that took this long says nothing of now. */
const trustedMs = (callLease.seconds * 1_000) / 2;

/**
 * Renews the lease of a call while `work` goes on, from a timer of its own: what Temporal thinks of this attempt has no
 * part in it. An attempt that fails gives the call up, so that the next one need not wait for the lease.
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
  // A renewal that fails is followed by the next; whether the lease held is asked before it matters.
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
