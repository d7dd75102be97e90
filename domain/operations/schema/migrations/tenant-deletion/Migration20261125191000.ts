import { SqlMigration } from '../sql-migration.ts';

/** The token of a deletion ends a day after its first use. */
export class Migration20261125191000 extends SqlMigration {
  protected override readonly files = ['tenant-deletion/certificate-read.sql'];
}
