import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from './database.ts';
import { isDatabaseUnavailable } from './is-unavailable.ts';

const againAfterMs = 500;

/** @throws where the login is not behind the wall; a database that is away is waited for */
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
