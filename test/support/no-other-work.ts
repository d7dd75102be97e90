import { AdaptiveRate } from '#domain/foundation/kernel/adaptive-rate.ts';
import { BulkTurns } from '#domain/foundation/kernel/bulk-turns.ts';

/** Bulk work never waits: nothing else is done. */
export const noOtherWork = new BulkTurns({
  rate: new AdaptiveRate({ perSecond: 1, pressure: () => null }),
  isContended: () => false,
});
