import { Command } from 'commander';
import { addApiKeys, addPrincipals } from './platform/commands/access.ts';
import { addCollections, addDocuments } from './platform/commands/collections.ts';
import { addLocal } from './platform/commands/local.ts';
import { addModels, addPrices } from './platform/commands/models.ts';
import { addResponses } from './platform/commands/responses.ts';
import { addMembers, addSpaces } from './platform/commands/spaces.ts';
import { addTenants } from './platform/commands/tenants.ts';
import { addWorkflows } from './platform/commands/workflows.ts';
import { describe } from './platform/connect.ts';

const program = new Command('platform')
  .description('Operates a platform deployment, through its gateway and with an API key.')
  .option('--url <url>', 'the gateway (PLATFORM_URL), http://127.0.0.1:8080 when not given')
  .option('--key-file <path>', 'a file with the API key (PLATFORM_API_KEY_FILE), else PLATFORM_API_KEY')
  .showHelpAfterError('(add --help for the options)');

addResponses(program);
addWorkflows(program);
addTenants(program);
addSpaces(program);
addMembers(program);
addPrincipals(program);
addApiKeys(program);
addModels(program);
addPrices(program);
addCollections(program);
addDocuments(program);
addLocal(program);

try {
  await program.parseAsync();
} catch (error) {
  console.error(describe(error));
  process.exitCode = 1;
}
