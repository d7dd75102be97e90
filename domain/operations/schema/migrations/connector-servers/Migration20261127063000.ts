import { SqlMigration } from '../sql-migration.ts';

/** Connectors that read the resources of a connected tool server. */
export class Migration20261127063000 extends SqlMigration {
  protected override readonly files = ['connector-servers/server-id.sql'];
}
