import { SqlMigration } from './sql-migration.ts';

/** The ranking of passages may read who may read a document at its source. */
export class Migration20261124110000 extends SqlMigration {
  protected override readonly files = ['source-readers.sql'];
}
