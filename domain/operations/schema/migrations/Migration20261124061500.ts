import { SqlMigration } from './sql-migration.ts';

/** Lets a sweep find collections without document frequencies. */
export class Migration20261124061500 extends SqlMigration {
  protected override readonly files = ['lexeme-listing.sql'];
}
