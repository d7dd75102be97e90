import { SqlMigration } from '../sql-migration.ts';

/** Deletions of spaces. */
export class Migration20261125190100 extends SqlMigration {
  protected override readonly files = ['scope-erasure/spaces.sql'];
}
