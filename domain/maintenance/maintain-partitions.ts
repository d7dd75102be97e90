import type { UnitOfWork } from '#domain/persistence/unit-of-work.ts';

/**
 * Makes the partitions that are due and drops those that have expired. After a long stop a month takes in what was
 * written meanwhile: each in a transaction of its own, with time for millions of events.
 */
export async function maintainPartitions(purge: UnitOfWork): Promise<void> {
  for (let more = true; more;) {
    more = await purge.acrossTenants((em) =>
      em.transactional(async (inside) => {
        await inside.execute(`set local statement_timeout = '10min'`);
        const [row] = await inside.execute<{ more: boolean }[]>('select app.maintain_partitions() as more');
        return row?.more ?? false;
      }),
    );
  }
}
