import { hitFailpoint } from '#domain/foundation/kernel/failpoint.ts';
import type { Database } from '#domain/foundation/persistence/database.ts';
import type { EventRun } from '#domain/responses/record/stream-events.ts';

/** One response's model lane as a writer holds it. */
export interface LaneAppend {
  tenantId: string;
  responseId: string;
  epoch: number;
  run: EventRun;
}

export type AppendAnswer = 'in' | 'fenced' | 'busy';

/**
 * Appends the runs of many responses in one commit.
 * @returns per element whether it is in, fenced by another writer, or must be retried
 */
export async function appendStream(
  database: Database,
  appends: readonly LaneAppend[],
): Promise<AppendAnswer[]> {
  hitFailpoint('publish.before_commit');
  const [row] = await database.call<{ answers: AppendAnswer[] }>(
    'append_stream',
    'select app.append_stream($1, $2, $3, $4, $5, $6) as answers',
    [
      appends.map((append) => append.tenantId),
      appends.map((append) => append.responseId),
      appends.map((append) => append.epoch),
      appends.map((append) => append.run.firstN),
      appends.map((append) => append.run.n),
      appends.map((append) => append.run.events),
    ],
  );
  hitFailpoint('publish.after_commit');
  return row?.answers ?? [];
}

/** The current state of a lane, with the database's time. */
export interface LaneState {
  epoch: number;
  nextN: number;
  now: Date;
  /** Another response waits for this one to end. */
  awaited: boolean;
}

/** Read before a turn's commit, and after a commit whose answer was lost. Null: unknown, expired or deleted. */
export async function readLane(
  database: Database,
  tenantId: string,
  responseId: string,
): Promise<LaneState | null> {
  const [row] = await database.call<{ epoch: number; next_n: number; now_ms: number; awaited: boolean }>(
    'read_lane',
    'select epoch, next_n, now_ms, awaited from app.read_lane($1, $2)',
    [tenantId, responseId],
  );
  return row === undefined
    ? null
    : { epoch: row.epoch, nextN: row.next_n, now: new Date(row.now_ms), awaited: row.awaited };
}

export interface StreamCursor {
  tenantId: string;
  responseId: string;
  /** The last sequence number that the reader has; -1 for none. */
  after: number;
}

/** The runs after each cursor, at most `limit` each; a cursor's first run may begin before it. */
export async function readStreams(
  database: Database,
  cursors: readonly StreamCursor[],
  limit: number,
): Promise<EventRun[][]> {
  const rows = await database.call<{ place: number; first_n: number; n: number; events: string }>(
    'read_streams',
    'select * from app.read_streams($1, $2, $3, $4)',
    [
      cursors.map((cursor) => cursor.tenantId),
      cursors.map((cursor) => cursor.responseId),
      cursors.map((cursor) => cursor.after),
      limit,
    ],
  );
  const runs: EventRun[][] = cursors.map(() => []);
  for (const row of rows) {
    runs[row.place - 1]?.push({ firstN: row.first_n, n: row.n, events: row.events });
  }
  return runs;
}
