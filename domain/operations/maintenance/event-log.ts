import { anchorChains } from '#domain/foundation/events/anchor-chains.ts';
import { dropOldEvents } from '#domain/foundation/events/drop-old-events.ts';
import { hasUnsealed, sealEvents } from '#domain/foundation/events/seal-events.ts';
import type { TenantTurns } from '#domain/foundation/events/tenant-turns.ts';
import type { Round } from '#domain/operations/sweep-kinds/round.ts';
import type { Sweep } from '#domain/operations/sweep-kinds/sweep.ts';

/** Seals the event log of every tenant up to its end. */
export const sealLog: Sweep = {
  isDue: ({ purge }) => hasUnsealed(purge),
  async run(deps, round) {
    const { sealed, failed, next } = await sealEvents(deps, turnsOf(round));
    return { done: sealed, failed, next: next === null ? null : [next] };
  },
};

/** Writes the heads of all chains to where the database's owner cannot change them. */
export const anchorLog: Sweep = {
  async run(deps, round) {
    const { anchored, next } = await anchorChains(deps, deps.eventRetentionDays, turnsOf(round));
    return { done: anchored, failed: 0, next: next === null ? null : [next] };
  },
};

/** Drops the months of the event log whose retention is over. */
export const dropLog: Sweep = {
  async run(deps, round) {
    const { dropped, failed, next, failedTenants } = await dropOldEvents(
      deps.purge,
      deps.eventRetentionDays,
      turnsOf(round),
    );
    if (dropped > 0) {
      // Anchors the new first links of the chains while the drop explains them; the hourly sweep does the rest.
      await anchorChains(deps, deps.eventRetentionDays, { mayGoOn: () => round.mayGoOn() });
    }
    const named = failedTenants.length === 0 ? {} : { failedTenants };
    return { done: dropped, failed, next: next === null ? null : [next], ...named };
  },
};

/** A place of these sweeps is a tenant. */
function turnsOf(round: Round): TenantTurns {
  return {
    after: round.place?.[0] ?? null,
    mayGoOn: () => round.mayGoOn(),
    reached: (tenantId) => round.reached([tenantId]),
  };
}
