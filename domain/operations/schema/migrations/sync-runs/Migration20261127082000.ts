import { SqlMigration } from '../sql-migration.ts';

/** How much the page has brought that a run is at. */
export class Migration20261127082000 extends SqlMigration {
  protected override readonly files = ['sync-runs/page-records.sql'];
}
