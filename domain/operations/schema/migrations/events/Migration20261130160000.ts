import { SqlMigration } from '../sql-migration.ts';

/** What retention takes of a tenant's log is found by indexes, and how far it has come is known. */
export class Migration20261130160000 extends SqlMigration {
  protected override readonly files = ['events/old-log.sql'];
}
