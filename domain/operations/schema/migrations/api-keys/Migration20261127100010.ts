import { SqlMigration } from '../sql-migration.ts';

/** Keys end with their principal and tenant, are few for each principal, and leave after their retention. */
export class Migration20261127100010 extends SqlMigration {
  protected override readonly files = ['api-keys/ended-keys.sql'];
}
