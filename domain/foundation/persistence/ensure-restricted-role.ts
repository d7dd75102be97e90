import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from './database.ts';
import { isDatabaseUnavailable } from './is-unavailable.ts';

const againAfterMs = 500;

/** Waits while the database is unavailable. @throws if the login is not subject to row-level security */
export async function ensureRestrictedRole(database: Database): Promise<void> {
  for (;;) {
    try {
      return await database.assertRestrictedRole();
    } catch (error) {
      if (!isDatabaseUnavailable(error)) throw error;
      await sleep(againAfterMs);
    }
  }
}
