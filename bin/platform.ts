import { Command } from 'commander';
import { bootstrap } from './platform/bootstrap.ts';
import { createKey, revokeKey } from './platform/api-keys.ts';
import { addResponses } from './platform/commands/responses.ts';
import { describe } from './platform/connect.ts';
import { demo } from './platform/demo.ts';
import { runMigration } from './platform/migrate.ts';

const program = new Command('platform')
  .description('Operates a platform deployment.')
  .option('--url <url>', 'the gateway (PLATFORM_URL), http://127.0.0.1:8080 when not given')
  .option('--key-file <path>', 'a file with the API key (PLATFORM_API_KEY_FILE), else PLATFORM_API_KEY')
  .showHelpAfterError('(add --help for the options)');

program
  .command('migrate')
  .description('create roles, apply migrations (DATABASE_ADMIN_URL, DATABASE_URL, DATABASE_PURGE_URL)')
  .action(runMigration);

program
  .command('bootstrap')
  .description('create a tenant with its owner, a first space and an API key (DATABASE_URL, MASTER_KEY)')
  .requiredOption('--slug <slug>', 'the tenant’s short name')
  .requiredOption('--name <name>', 'the tenant’s name')
  .option('--json', 'print JSON')
  .action(bootstrap);

const keys = program.command('api-keys').description('API keys of a tenant');
keys
  .command('create')
  .requiredOption('--tenant <id>')
  .requiredOption('--principal <id>')
  .requiredOption('--name <name>')
  .option('--permission <name...>', 'what the key may do at most; everything when not given')
  .option('--json', 'print JSON')
  .action(createKey);
keys
  .command('revoke')
  .requiredOption('--tenant <id>')
  .requiredOption('--principal <id>', 'who revokes')
  .argument('<key_id>', 'the part between ak. and the second dot')
  .action(revokeKey);

program
  .command('demo')
  .description('create or refresh the demo tenant')
  .option('--wait <seconds>', 'wait until a worker has made the documents searchable', Number)
  .option('--json', 'print JSON')
  .action(demo);

addResponses(program);

try {
  await program.parseAsync();
} catch (error) {
  console.error(describe(error));
  process.exitCode = 1;
}
