import { SqlMigration } from '../sql-migration.ts';

/** Where a run is within the groups of its source. */
export class Migration20261127083000 extends SqlMigration {
  protected override readonly files = ['sync-runs/group-place.sql'];
}
