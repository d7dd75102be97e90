import { SqlMigration } from './sql-migration.ts';

/** Stored credentials, and what refers to them. */
export class Migration20261124000000 extends SqlMigration {
  protected override readonly files = ['credentials.sql'];
}
