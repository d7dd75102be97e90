import { readFileSync } from 'node:fs';
import { Migration } from '@mikro-orm/migrations';

/** Content of documents in a store of bytes, generations of passages, their number per collection. */
export class Migration20261124010000 extends Migration {
  override up(): void {
    this.addSql(readFileSync(new URL('stored-content.sql', import.meta.url), 'utf8'));
  }
}
