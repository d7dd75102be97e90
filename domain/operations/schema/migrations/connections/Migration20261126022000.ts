import { SqlMigration } from '../sql-migration.ts';

/** A registration is replaced when a connection needs scopes that it does not name. */
export class Migration20261126022000 extends SqlMigration {
  protected override readonly files = ['connections/authorization-clients-scope.sql'];
}
