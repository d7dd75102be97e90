import { SqlMigration } from './sql-migration.ts';

/** Embedding models, the vectors of passages by generations, the places of passages. */
export class Migration20261124040000 extends SqlMigration {
  protected override readonly files = ['embeddings.sql'];
}
