import { SqlMigration } from '../sql-migration.ts';

/** Deletions of a part of a tenant whose rows are erased afterwards: collections. */
export class Migration20261125190000 extends SqlMigration {
  protected override readonly files = ['scope-erasure/erasures.sql'];
}
