import { SqlMigration } from './sql-migration.ts';

/** Connectors, their runs, and the documents of their sources. */
export class Migration20261124080000 extends SqlMigration {
  protected override readonly files = ['connectors.sql'];
}
