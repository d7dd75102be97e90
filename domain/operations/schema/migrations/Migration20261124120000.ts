import { SqlMigration } from './sql-migration.ts';

/** Connections to tool servers, authorized with OAuth. */
export class Migration20261124120000 extends SqlMigration {
  protected override readonly files = ['connections.sql'];
}
