import { randomUUID } from 'node:crypto';
import type { Database } from '#domain/foundation/persistence/database.ts';
import type { CallKey } from '#domain/responses/record/turn-key.ts';
import type { ToolCall } from '#domain/responses/record/tool-call.entity.ts';

/**
 * An attempt that has started a call at a tool server holds a lease on it, by the database's clock, and renews it
 * whatever Temporal assumes of the attempt. Until the lease expires, no other attempt settles the call.
 */
export const callLease = { seconds: 4, renewEveryMs: 1_300, lookEveryMs: 400 };

/**
 * Consecutive checks that must find the lease expired: its holder may renew it after an outage of database or
 * machine.
 */
const looksNeeded = Math.ceil(callLease.renewEveryMs / callLease.lookEveryMs) + 1;

/** One attempt at a call. It recognises its own claim by the nonce; that of a search, which has none, by its count. */
export interface Claimant {
  readonly nonce: string;
  /** How often in a row it found another attempt's lease expired. */
  looks: number;
  /** Whether a claim of it may have been written. */
  wrote: boolean;
  /** The count of begun attempts that its claim of a search may have written; null: none. */
  begun: number | null;
}

export function newClaimant(): Claimant {
  return { nonce: randomUUID(), looks: 0, wrote: false, begun: null };
}

/** Whether another attempt holds the call, as far as `claimant` can know. */
export function isHeld(call: ToolCall, now: Date, { nonce, looks }: Claimant): boolean {
  const isAnothers = call.status === 'started' && call.claimNonce != null && call.claimNonce !== nonce;
  return isAnothers && (looks < looksNeeded || isLeased(call, now));
}

export function isLeased({ leasedUntil }: ToolCall, now: Date): boolean {
  return leasedUntil != null && leasedUntil > now;
}

/** @returns false if another attempt holds the call, or it is settled */
export function renewLease(database: Database, key: CallKey, nonce: string): Promise<boolean> {
  return holdCall(database, key, nonce, callLease.seconds);
}

/** Lets the next attempt start at once: this attempt has no request in progress. */
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
