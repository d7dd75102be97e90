import { SqlMigration } from './sql-migration.ts';

/** Texts of embedding usage, and its purpose of calibration. */
export class Migration20261124060500 extends SqlMigration {
  protected override readonly files = ['embedding-texts.sql'];
}
