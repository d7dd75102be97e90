import { SqlMigration } from './sql-migration.ts';

/** Signals travel through the outbox, and the row of a sweep that was removed goes. */
export class Migration20261123200000 extends SqlMigration {
  protected override readonly files = ['signals.sql'];
}
