import { SqlMigration } from './sql-migration.ts';

/** The first released baseline: every table, index, constraint, policy and grant of it. Functions stand in ../functions. */
export class Migration20261121000000 extends SqlMigration {
  protected override readonly files = [
    'baseline/table-functions.sql',
    'baseline/tables.sql',
    'baseline/secrets.sql',
    'baseline/administration.sql',
    'baseline/sign-in.sql',
    'baseline/threads.sql',
    'baseline/skills.sql',
    'baseline/observability.sql',
    'baseline/events.sql',
    'baseline/notifications.sql',
    'baseline/rate-limits.sql',
    'baseline/sweeps.sql',
    'baseline/triggers.sql',
    'baseline/row-level-security.sql',
  ];
}
