import { SqlMigration } from './sql-migration.ts';

/** Keys by which fan-outs are coalesced, and whose fan-out claimed a period. */
export class Migration20261124020000 extends SqlMigration {
  protected override readonly files = ['fan-out-keys.sql'];
}
