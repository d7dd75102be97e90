import { readFileSync } from 'node:fs';
import { Migration } from '@mikro-orm/migrations';

/** The spine: tables, the tenancy wall, hot functions. */
export class Migration20261121000000 extends Migration {
  override up(): void {
    for (const file of [
      'tables.sql',
      'secrets.sql',
      'notifications.sql',
      'rate-limits.sql',
      'turn.sql',
      'functions.sql',
      'wall.sql',
      'notifications-doors.sql',
    ]) {
      this.addSql(readFileSync(new URL(file, import.meta.url), 'utf8'));
    }
  }
}
