import { Command, CommanderError } from 'commander';
import { addApiKeys, addPrincipals } from './commands/identity.ts';
import { addCollections, addDocuments } from './commands/knowledge.ts';
import { addConnectors } from './commands/connectors.ts';
import { addCredentials } from './commands/credentials.ts';
import { addEmbeddingModels, addSpaceEmbedding } from './commands/embeddings.ts';
import { addRerankingModels, addSpaceReranking } from './commands/reranking.ts';
import { addEvents } from './commands/events.ts';
import { addGovernance } from './commands/governance.ts';
import { addInvites } from './commands/invites.ts';
import { addLocal } from './commands/local.ts';
import { addModels, addPrices } from './commands/models.ts';
import { addKnowledge } from './commands/search.ts';
import { addObservability } from './commands/observability.ts';
import { addNotifications } from './commands/notifications.ts';
import { addProjectMembers, addProjects } from './commands/projects.ts';
import { addResponses } from './commands/responses.ts';
import { addRoles } from './commands/roles.ts';
import { addIdentityProviders, addSessions } from './commands/sign-in.ts';
import { addSkills, addSkillVersions } from './commands/skills.ts';
import { addMembers, addSpaces } from './commands/spaces.ts';
import { addToolServers } from './commands/tools.ts';
import { addThreads } from './commands/threads.ts';
import { addTenants } from './commands/tenants.ts';
import { addWorkflows } from './commands/workflows.ts';
import { softwareVersion } from '#domain/foundation/kernel/software-version.ts';
import { describe } from './connect.ts';

export interface Streams {
  out: (text: string) => void;
  err: (text: string) => void;
}

/** Every command. Results go to `out`; messages for people go to `err`. */
export function createProgram(streams: Streams): Command {
  // Before any command is added, since each command copies these settings when it is created.
  const program = new Command('platform')
    .exitOverride()
    .configureOutput({ writeOut: streams.out, writeErr: streams.err });
  program
    .description(
      'Operates a platform deployment through its gateway, with an API key in PLATFORM_API_KEY or a file.',
    )
    .version(softwareVersion, '-V, --version', 'print the version of this release')
    .option('--url <url>', 'the gateway (PLATFORM_URL), http://127.0.0.1:8080 when not given')
    .option('--key-file <path>', 'a file with the API key (PLATFORM_API_KEY_FILE), else PLATFORM_API_KEY');
  addResponses(program);
  addWorkflows(program);
  addTenants(program);
  addSpaces(program);
  addMembers(program);
  addProjects(program);
  addProjectMembers(program);
  addInvites(program);
  addRoles(program);
  addPrincipals(program);
  addApiKeys(program);
  addSessions(program);
  addIdentityProviders(program);
  addModels(program);
  addPrices(program);
  addEmbeddingModels(program);
  addSpaceEmbedding(program);
  addRerankingModels(program);
  addSpaceReranking(program);
  addCollections(program);
  addDocuments(program);
  addConnectors(program);
  addKnowledge(program);
  addCredentials(program);
  addToolServers(program);
  addThreads(program);
  addGovernance(program);
  addSkills(program);
  addSkillVersions(program);
  addObservability(program);
  addEvents(program);
  addNotifications(program);
  addLocal(program);
  return program;
}

/** @returns the exit code: 1 for every refusal, wrong usage included, reported in one line. */
export async function run(args: readonly string[], streams: Streams): Promise<number> {
  try {
    await createProgram(streams).parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) {
      // Commander has printed the message itself; asking for help is no error.
      return error.exitCode;
    }
    streams.err(`${describe(error)}\n`);
    return 1;
  }
}
