import { SqlMigration } from '../sql-migration.ts';

/** Languages of collections change passage by passage. */
export class Migration20261127064500 extends SqlMigration {
  protected override readonly files = ['language-changes/language-changes.sql'];
}
