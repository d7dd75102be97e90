import { readFileSync } from 'node:fs';
import { Migration } from '@mikro-orm/migrations';

/** A dated migration that is written in SQL files of this folder; the helpers of helpers.sql are at hand in each. */
export abstract class SqlMigration extends Migration {
  protected abstract readonly files: readonly string[];

  override up(): void {
    for (const file of ['helpers.sql', ...this.files]) {
      this.addSql(readFileSync(new URL(file, import.meta.url), 'utf8'));
    }
  }
}
