import { SqlMigration } from '../sql-migration.ts';

/** Connections of connectors: sources that are authorized with OAuth. */
export class Migration20261125040000 extends SqlMigration {
  protected override readonly files = ['connections/source-connections.sql'];
}
