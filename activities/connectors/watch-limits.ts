import type { ChangePace } from '#domain/knowledge/connectors/report-change.ts';

/** Why a run is asked for: the source reported a change, or one may have been missed while nobody listened. */
export type Cause = 'change' | 'gap';

export interface WatchLimits {
  /** A watch ends after this time: its place is for others, too. */
  watchMs: number;
  /** Interval at which scope, credential and status are compared. */
  checkMs: number;
  debounceMs: number;
  /** Of runs that reported changes begin, and of those that a gap between two subscriptions begins. */
  pace: Record<Cause, ChangePace>;
  /** A subscription that ends sooner counts as a failure. */
  minHeldMs: number;
  /** Pause before the next subscription: doubled after each stream that is cut, and short again after a long stream. */
  again: { minMs: number; maxMs: number; afterMs: number };
  /** Watches of one tenant on a worker. */
  perTenant: number;
}

export const watchLimits: WatchLimits = {
  watchMs: 6 * 3_600_000,
  checkMs: 5_000,
  debounceMs: 2_000,
  pace: {
    change: { runs: 2, withinMs: 60_000, maxWithinMs: 3_600_000 },
    gap: { runs: 3, withinMs: 900_000 },
  },
  minHeldMs: 30_000,
  again: { minMs: 1_000, maxMs: 300_000, afterMs: 3_600_000 },
  perTenant: 20,
};
