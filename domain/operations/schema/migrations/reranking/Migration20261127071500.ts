import { SqlMigration } from '../sql-migration.ts';

/** Reranking models, the choice of a space, and their usage. */
export class Migration20261127071500 extends SqlMigration {
  protected override readonly files = ['reranking/tables.sql'];
}
