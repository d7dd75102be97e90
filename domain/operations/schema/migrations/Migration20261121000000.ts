import { readFileSync } from 'node:fs';
import { Migration } from '@mikro-orm/migrations';

/** Tables first, then what works on them, then the wall around all. */
const files = [
  'tables.sql',
  'secrets.sql',
  'administration.sql',
  'sign-in.sql',
  'threads.sql',
  'skills.sql',
  'observability.sql',
  'events.sql',
  'notifications.sql',
  'rate-limits.sql',
  'turn.sql',
  'keys.sql',
  'reads.sql',
  'functions.sql',
  'events-functions.sql',
  'administration-doors.sql',
  'sign-in-functions.sql',
  'threads-purge.sql',
  'wall.sql',
  'events-wall.sql',
  'notifications-doors.sql',
  'sweeps.sql',
];

/** The spine: tables, the tenancy wall, hot functions. */
export class Migration20261121000000 extends Migration {
  override up(): void {
    for (const file of files) {
      this.addSql(readFileSync(new URL(file, import.meta.url), 'utf8'));
    }
  }
}
