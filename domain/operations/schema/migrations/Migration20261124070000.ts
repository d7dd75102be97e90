import { SqlMigration } from './sql-migration.ts';

/** Lists of vectors, for searches of large spaces. */
export class Migration20261124070000 extends SqlMigration {
  protected override readonly files = ['vector-lists.sql'];
}
