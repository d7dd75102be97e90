import { parseMigratorConfig } from '#domain/kernel/config.ts';
import { migrate } from '#domain/persistence/migrate.ts';

export async function runMigration(): Promise<void> {
  await migrate(parseMigratorConfig(process.env));
  console.log('migrated');
}
