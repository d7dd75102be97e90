import { SqlMigration } from '../sql-migration.ts';

/** The tools that each account at a personal tool server sees. */
export class Migration20261125030000 extends SqlMigration {
  protected override readonly files = ['connections/listed-tools.sql'];
}
