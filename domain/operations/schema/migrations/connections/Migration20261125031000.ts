import { SqlMigration } from '../sql-migration.ts';

/** The age of registrations at authorization servers, by which they are purged. */
export class Migration20261125031000 extends SqlMigration {
  protected override readonly files = ['connections/authorization-clients-age.sql'];
}
