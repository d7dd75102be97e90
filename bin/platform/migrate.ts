import { parseMigratorConfig } from '#domain/foundation/kernel/config.ts';
import { migrate } from '#domain/operations/schema/migrate.ts';

export async function runMigration(): Promise<void> {
  await migrate(parseMigratorConfig(process.env));
  console.log('migrated');
}
