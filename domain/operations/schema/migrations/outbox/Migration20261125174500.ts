import { SqlMigration } from '../sql-migration.ts';

/** An index by which a relay finds the first messages of each tenant, kind and type without reading the others. */
export class Migration20261125174500 extends SqlMigration {
  protected override readonly files = ['outbox/groups.sql'];
}
