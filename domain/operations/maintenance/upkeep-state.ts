import type { Database } from '#domain/foundation/persistence/database.ts';
import { sweepAges } from './sweep-clock.ts';

/** Whether upkeep keeps pace with the load. */
export interface UpkeepState {
  /** Events that are not sealed yet, at most 10,000 counted per tenant. */
  unsealedEvents: number;
  /** Age of the oldest of them; 0 without any. */
  oldestUnsealedSeconds: number;
  /** Fill level of PostgreSQL's notification queue, 0 to 1: a full queue fails every commit that notifies. */
  notificationQueueUsage: number;
  /** Time since each sweep last succeeded. */
  sweeps: { name: string; seconds: number }[];
}

/**
 * @param known the planned sweeps; rows of sweeps that an upgrade removed are left out. Without it, all are included
 */
export async function readUpkeepState(database: Database, known?: readonly string[]): Promise<UpkeepState> {
  const [lag] = await database.call<{ events: number; oldest_seconds: number; queue: number }>(
    'upkeep_state',
    'select l.events, l.oldest_seconds, pg_notification_queue_usage() as queue from app.sealing_lag() l',
    [],
  );
  return {
    unsealedEvents: lag?.events ?? 0,
    oldestUnsealedSeconds: lag?.oldest_seconds ?? 0,
    notificationQueueUsage: lag?.queue ?? 0,
    sweeps: (await sweepAges(database)).filter(({ name }) => known?.includes(name) !== false),
  };
}
