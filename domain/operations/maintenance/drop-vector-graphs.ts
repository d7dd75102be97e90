import { changePartitions } from '#domain/foundation/persistence/change-partitions.ts';
import type { Sweep, SweepDependencies } from '#domain/operations/sweep-kinds/sweep.ts';

const listUnused = ({ database }: SweepDependencies) =>
  database.call<{ name: string }>(
    'list_unused_vector_graphs',
    'select name from app.list_unused_vector_graphs() as name',
    [],
  );

/**
 * Drops graphs that no search uses. A search needs the lock that a drop waits for: on a conflict the drop is given up at
 * once, and retried as a change of partitions is.
 */
export const dropVectorGraphs: Sweep = {
  isDue: async (deps) => (await listUnused(deps)).length > 0,
  async run(deps, round) {
    const result = { done: 0, failed: 0, next: null };
    for (const { name } of await listUnused(deps)) {
      if (!round.mayGoOn()) {
        break;
      }
      const dropped = await changePartitions(deps.purge, async (em) => {
        await em.execute('select app.drop_vector_graph(?)', [name]);
        return true;
      });
      result[dropped === null ? 'failed' : 'done'] += 1;
    }
    return result;
  },
};
