import { SqlMigration } from './sql-migration.ts';

/** Document frequencies of words, and an index by collection and word. */
export class Migration20261124050000 extends SqlMigration {
  protected override readonly files = ['lexeme-stats.sql'];
}
