import { SqlMigration } from '../sql-migration.ts';

/** Documents that could not be fetched are fetched again by themselves. */
export class Migration20261127120100 extends SqlMigration {
  protected override readonly files = ['source-documents/repeats.sql'];
}
