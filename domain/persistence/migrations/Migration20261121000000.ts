import { readFileSync } from 'node:fs';
import { Migration } from '@mikro-orm/migrations';

/** The spine: tables, the tenancy wall, hot functions. */
export class Migration20261121000000 extends Migration {
  override up(): void {
    for (const file of [
      'tables.sql',
      'secrets.sql',
      'threads.sql',
      'turn.sql',
      'functions.sql',
      'threads-purge.sql',
      'wall.sql',
    ]) {
      this.addSql(readFileSync(new URL(file, import.meta.url), 'utf8'));
    }
  }
}
