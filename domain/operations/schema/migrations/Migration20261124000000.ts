import { readFileSync } from 'node:fs';
import { Migration } from '@mikro-orm/migrations';

/** Stored credentials, and what refers to them. */
export class Migration20261124000000 extends Migration {
  override up(): void {
    this.addSql(readFileSync(new URL('credentials.sql', import.meta.url), 'utf8'));
  }
}
