import { SqlMigration } from '../sql-migration.ts';

/** Marks of documents that were seen are written in place. */
export class Migration20261127021000 extends SqlMigration {
  protected override readonly files = ['source-documents/marks-in-place.sql'];
}
