import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { sweep } from '../shared/activity-options.ts';

const { reconcile, purgeExpired, maintainPartitions } = proxyActivities<Activities>(sweep);

/**
 * One round of upkeep, started by its schedule: nothing stays unfinished, nothing stays past its time. No step
 * depends on another's success; the round fails when one of them did.
 */
export async function runMaintenance(): Promise<void> {
  const reconciled = await settled(reconcile());
  const purged = await settled(purgeExpired());
  const partitions = await settled(maintainPartitions());
  const failed = [reconciled, purged, partitions].reduce((sum, { value }) => sum + (value?.failed ?? 0), 0);
  setCurrentDetails(
    `restarted ${reconciled.value?.restarted ?? '?'}, purged ${purged.value?.purged ?? '?'}, failed rows ${failed}`,
  );
  const [first] = [reconciled, purged, partitions].flatMap(({ error }) =>
    error === undefined ? [] : [error],
  );
  if (first !== undefined) {
    throw first;
  }
}

async function settled<T>(step: Promise<T>): Promise<{ value?: T; error?: unknown }> {
  try {
    return { value: await step };
  } catch (error) {
    return { error };
  }
}
