import { withStatementTimeout } from '#domain/foundation/persistence/statement-timeout.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { changePartitions } from '#domain/foundation/persistence/change-partitions.ts';
import type { Round } from '#domain/operations/sweep-kinds/round.ts';
import type { Sweep } from '#domain/operations/sweep-kinds/sweep.ts';

const timeoutMs = 600_000;

/**
 * Creates the partitions that are due and drops the expired ones. After a long outage a new month takes over the rows
 * that were written meanwhile: each partition in its own transaction, with time for millions of events.
 */
export const maintainPartitions: Sweep = {
  async run({ purge }, round: Round) {
    for (let done = 0; ; done += 1) {
      const more = await maintainNext(purge);
      if (more !== true) {
        return { done, failed: more === null ? 1 : 0, next: null };
      }
      if (!round.mayGoOn()) {
        return { done: done + 1, failed: 0, next: [] };
      }
    }
  },
};

/** @returns whether more is due; null when readers held a lock */
function maintainNext(purge: UnitOfWork): Promise<boolean | null> {
  return changePartitions(purge, async (em) => {
    const [row] = await withStatementTimeout(em, timeoutMs, () =>
      em.execute<{ more: boolean }[]>('select app.maintain_partitions() as more'),
    );
    return row?.more ?? false;
  });
}
