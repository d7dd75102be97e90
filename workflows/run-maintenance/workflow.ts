import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { sweep } from '../shared/activity-options.ts';

const { reconcile, purgeExpired, maintainPartitions } = proxyActivities<Activities>(sweep);

/** One round of upkeep, started by its schedule: nothing stays unfinished, nothing stays past its time. */
export async function runMaintenance(): Promise<void> {
  const { restarted } = await reconcile();
  const { purged } = await purgeExpired();
  await maintainPartitions();
  setCurrentDetails(`restarted ${restarted}, purged ${purged}`);
}
