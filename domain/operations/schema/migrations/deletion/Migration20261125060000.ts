import { SqlMigration } from '../sql-migration.ts';

/** Erasure of tenants: tombstones, and partitions that are emptied at once. */
export class Migration20261125060000 extends SqlMigration {
  protected override readonly files = ['deletion/erasure.sql'];
}
