import type { Command } from 'commander';
import type { BootstrapOptions } from '../bootstrap.ts';
import type { DemoOptions } from '../demo.ts';

/** Commands that open the database themselves, because no valid API key exists yet. */
export function addLocal(program: Command): void {
  program
    .command('migrate')
    .description(
      'create roles, apply migrations (DATABASE_ADMIN_URL, DATABASE_URL, DATABASE_PURGE_URL, DATABASE_VERIFIER_URL)',
    )
    .action(async () => {
      const { runMigration } = await import('../migrate.ts');
      await runMigration();
    });

  program
    .command('bootstrap')
    .description('create an operator with a key, and a first tenant (DATABASE_URL, MASTER_KEY)')
    .option('--slug <slug>', 'the first tenant’s short name')
    .option('--name <name>', 'the first tenant’s name')
    .option('--json', 'print JSON')
    .action(async (options: BootstrapOptions) => {
      const { bootstrap } = await import('../bootstrap.ts');
      await bootstrap(options);
    });

  program
    .command('demo')
    .description('create or refresh the demo tenant (DATABASE_URL, MASTER_KEY)')
    .option('--wait <seconds>', 'wait until a worker has made the documents searchable', Number)
    .option('--json', 'print JSON')
    .action(async (options: DemoOptions) => {
      const { demo } = await import('../demo.ts');
      await demo(options);
    });
}
