import { SqlMigration } from '../sql-migration.ts';

/** Connectors of sources that can be watched, whose actors wait without a time since an earlier version. */
export class Migration20261126163000 extends SqlMigration {
  protected override readonly files = ['watches/due-connectors.sql'];
}
