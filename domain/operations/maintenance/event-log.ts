import { anchorChains } from '#domain/foundation/events/anchor-chains.ts';
import { dropOldEvents } from '#domain/foundation/events/drop-old-events.ts';
import { hasUnsealed, sealEvents } from '#domain/foundation/events/seal-events.ts';
import type { Sweep } from '#domain/operations/sweep-kinds/sweep.ts';

/** Seals the event log of every tenant up to its end. */
export const sealLog: Sweep = {
  isDue: ({ purge }) => hasUnsealed(purge),
  async run(deps, round) {
    const { sealed, failed, more } = await sealEvents(deps, () => round.mayGoOn());
    return { done: sealed, failed, next: more ? [] : null };
  },
};

/** Writes the heads of all chains to where the database's owner cannot change them. */
export const anchorLog: Sweep = {
  async run(deps) {
    return { done: await anchorChains(deps, deps.eventRetentionDays), failed: 0, next: null };
  },
};

/** Drops the months of the event log whose retention is over. */
export const dropLog: Sweep = {
  async run(deps, round) {
    const { dropped, failed, more } = await dropOldEvents(deps.purge, deps.eventRetentionDays, () =>
      round.mayGoOn(),
    );
    if (dropped > 0) {
      // Anchors the new first links of the chains while the drop explains them.
      await anchorChains(deps, deps.eventRetentionDays);
    }
    return { done: dropped, failed, next: more ? [] : null };
  },
};
