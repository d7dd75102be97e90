import { SqlMigration } from '../sql-migration.ts';

/** A provider has the principal that confirmed its settings last. */
export class Migration20261128200000 extends SqlMigration {
  protected override readonly files = ['sign-in/confirmed-by.sql'];
}
