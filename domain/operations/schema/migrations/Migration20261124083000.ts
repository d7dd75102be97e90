import { SqlMigration } from './sql-migration.ts';

/** Equal content is found by its hash. */
export class Migration20261124083000 extends SqlMigration {
  protected override readonly files = ['stored-content-hash.sql'];
}
