import { randomUUID } from 'node:crypto';
import type { Database } from '#domain/foundation/persistence/database.ts';
import type { CallKey } from '#domain/responses/record/turn-key.ts';
import type { ToolCall } from '#domain/responses/record/tool-call.entity.ts';

/**
 * An attempt that has started a call at a tool server holds it by a lease of the database's clock, which it renews
 * whatever Temporal takes it for. Until the lease is over nobody else says what became of the call.
 */
export const callLease = { seconds: 4, renewEveryMs: 1_300, lookEveryMs: 400 };

/** Looks in a row at a lease that is over: its holder can renew it when the database, or the machine, was away. */
const looksNeeded = Math.ceil(callLease.renewEveryMs / callLease.lookEveryMs) + 1;

/** One attempt at a call. It knows its own claim again by the nonce. */
export interface Claimant {
  readonly nonce: string;
  /** How often in a row it found another's lease over. */
  looks: number;
  /** Whether a claim of it may have been written. */
  wrote: boolean;
}

export function newClaimant(): Claimant {
  return { nonce: randomUUID(), looks: 0, wrote: false };
}

/** Whether another attempt has the call, as far as `claimant` can know. */
export function isHeld(call: ToolCall, now: Date, { nonce, looks }: Claimant): boolean {
  const isAnothers = call.status === 'started' && call.claimNonce != null && call.claimNonce !== nonce;
  return isAnothers && (looks < looksNeeded || isLeased(call, now));
}

export function isLeased({ leasedUntil }: ToolCall, now: Date): boolean {
  return leasedUntil != null && leasedUntil > now;
}

/** @returns false when the call is another attempt's by now, or settled */
export function renewLease(database: Database, key: CallKey, nonce: string): Promise<boolean> {
  return holdCall(database, key, nonce, callLease.seconds);
}

/** The next attempt need not wait: nothing of this one is under way any more. */
export async function endLease(database: Database, key: CallKey, nonce: string): Promise<void> {
  await holdCall(database, key, nonce, null);
}

async function holdCall(
  database: Database,
  { tenantId, responseId, iteration, callIndex }: CallKey,
  nonce: string,
  seconds: number | null,
): Promise<boolean> {
  const [row] = await database.call<{ held: boolean }>(
    'hold_call',
    'select app.hold_call($1, $2, $3, $4, $5, $6) as held',
    [tenantId, responseId, iteration, callIndex, nonce, seconds],
  );
  return row?.held === true;
}
