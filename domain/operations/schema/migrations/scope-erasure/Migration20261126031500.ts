import { SqlMigration } from '../sql-migration.ts';

/** Deletions of projects and of people. */
export class Migration20261126031500 extends SqlMigration {
  protected override readonly files = ['scope-erasure/projects-and-principals.sql'];
}
