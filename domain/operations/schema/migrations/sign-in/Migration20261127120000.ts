import { SqlMigration } from '../sql-migration.ts';

/** Sessions end with their provider by one row, are few for each principal, and leave after they have ended. */
export class Migration20261127120000 extends SqlMigration {
  protected override readonly files = ['sign-in/session-ends.sql'];
}
