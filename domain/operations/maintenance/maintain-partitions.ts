import { withStatementTimeout } from '#domain/foundation/persistence/statement-timeout.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { changePartitions } from '#domain/foundation/persistence/change-partitions.ts';
import type { Round } from './round.ts';
import type { Sweep } from './sweep.ts';

const timeoutMs = 600_000;

/**
 * Makes the partitions that are due and drops those that have expired. After a long stop a month takes in what was
 * written meanwhile: each in a transaction of its own, with time for millions of events.
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

/** @returns whether more is due; null when readers were in the way */
function maintainNext(purge: UnitOfWork): Promise<boolean | null> {
  return changePartitions(purge, async (em) => {
    const [row] = await withStatementTimeout(em, timeoutMs, () =>
      em.execute<{ more: boolean }[]>('select app.maintain_partitions() as more'),
    );
    return row?.more ?? false;
  });
}
