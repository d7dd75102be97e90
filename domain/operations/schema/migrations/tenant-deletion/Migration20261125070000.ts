import { SqlMigration } from '../sql-migration.ts';

/** Deletions of tenants. */
export class Migration20261125070000 extends SqlMigration {
  protected override readonly files = ['tenant-deletion/tables.sql'];
}
