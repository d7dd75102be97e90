import type { Database } from '#domain/foundation/persistence/database.ts';
import { sweepAges } from './sweep-clock.ts';

/** Whether upkeep keeps up. */
export interface UpkeepState {
  /** Events that no seal covers yet, of one tenant 10,000 at most. */
  unsealedEvents: number;
  /** Since the oldest of them; 0 without any. */
  oldestUnsealedSeconds: number;
  /** How full PostgreSQL's queue of notifications is, 0 to 1: a full one refuses every commit that notifies. */
  notificationQueueUsage: number;
  /** Since each sweep last succeeded. */
  sweeps: { name: string; seconds: number }[];
}

/** @param known the sweeps that are planned; a row of one that an upgrade removed is not told of. Without it, of all */
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
