import { SqlMigration } from './sql-migration.ts';

/** Content of documents in a store of bytes, generations of passages, their number per collection. */
export class Migration20261124010000 extends SqlMigration {
  protected override readonly files = ['stored-content.sql'];
}
