import { SqlMigration } from '../sql-migration.ts';

/** Graphs of the vectors of large generations, where the extension for them is installed. */
export class Migration20261127060000 extends SqlMigration {
  protected override readonly files = ['vector-graphs/marks.sql'];
}
