import { SqlMigration } from '../sql-migration.ts';

/** Old runs of connectors are found by their age. */
export class Migration20261127013000 extends SqlMigration {
  protected override readonly files = ['sync-runs/aged-runs.sql'];
}
