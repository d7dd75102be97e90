import { SqlMigration } from '../sql-migration.ts';

/** The order in which ended invites are deleted. */
export class Migration20261127110000 extends SqlMigration {
  protected override readonly files = ['invites/expiry.sql'];
}
