import { SqlMigration } from '../sql-migration.ts';

/** The vectors of a list lie together. */
export class Migration20261129180000 extends SqlMigration {
  protected override readonly files = ['vector-lists/listed-vectors.sql'];
}
