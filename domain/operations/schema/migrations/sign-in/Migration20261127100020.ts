import { SqlMigration } from '../sql-migration.ts';

/** Providers of sign-in are found by slug among those that are in use. */
export class Migration20261127100020 extends SqlMigration {
  protected override readonly files = ['sign-in/open-providers.sql'];
}
