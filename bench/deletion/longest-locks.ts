import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';

const pauseMs = 5;

export interface LockWatch {
  /** The longest that a transaction of this application held row locks, in milliseconds, as far as samples show. */
  end(): Promise<number>;
}

/** Samples the age of transactions of sessions with one of these names that have written, which is how long their locks last. */
export function watchLocks(admin: Client, applicationNames: readonly string[]): LockWatch {
  const state = { isOver: false };
  let longest = 0;
  const watching = (async () => {
    while (!state.isOver) {
      const { rows } = await admin.query<{ ms: number | null }>(
        `select max(extract(epoch from clock_timestamp() - xact_start) * 1000)::float8 as ms from pg_stat_activity
         where datname = current_database() and usename = 'app_purge' and application_name = any ($1) and backend_xid is not null`,
        [applicationNames],
      );
      longest = Math.max(longest, rows[0]?.ms ?? 0);
      await sleep(pauseMs);
    }
  })();
  return {
    async end() {
      state.isOver = true;
      await watching;
      return longest;
    },
  };
}
