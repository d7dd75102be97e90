import { SqlMigration } from '../sql-migration.ts';

/** What a source answers when it is asked for a document that its listing lacks. */
export class Migration20261127081000 extends SqlMigration {
  protected override readonly files = ['source-documents/answers.sql'];
}
