import { apiKeys, principals } from './identity.ts';
import { collections, documents } from './knowledge.ts';
import { connections } from './connections.ts';
import { connectors } from './connectors.ts';
import { credentials, tenantCredentials } from './credentials.ts';
import { embeddingModels, spaceEmbedding } from './embeddings.ts';
import { events } from './events.ts';
import { governance } from './governance.ts';
import { invites } from './invites.ts';
import { models, prices } from './models.ts';
import { observability } from './observability.ts';
import { notifications } from './notifications.ts';
import { projectMembers, projects } from './projects.ts';
import { rerankingModels, spaceReranking } from './reranking.ts';
import { responses } from './responses.ts';
import { roles } from './roles.ts';
import { identityProviders, sessions } from './sign-in.ts';
import { knowledge } from './search.ts';
import { skills, skillVersions } from './skills.ts';
import { members, spaces } from './spaces.ts';
import { toolServers } from './tools.ts';
import { threads } from './threads.ts';
import { tenantDeletion } from './tenant-deletion.ts';
import { tenants } from './tenants.ts';
import { router } from './trpc.ts';
import { workflows } from './workflows.ts';

/** All procedures for operators and internal tools. */
export const appRouter = router({
  responses,
  workflows,
  tenants,
  tenantDeletion,
  spaces,
  members,
  projects,
  projectMembers,
  invites,
  roles,
  principals,
  apiKeys,
  sessions,
  identityProviders,
  models,
  prices,
  collections,
  documents,
  connectors,
  embeddingModels,
  spaceEmbedding,
  rerankingModels,
  spaceReranking,
  knowledge,
  credentials,
  tenantCredentials,
  toolServers,
  connections,
  threads,
  governance,
  skills,
  skillVersions,
  observability,
  events,
  notifications,
});

/** The procedures' types, for `@trpc/client`. Import it as a type only. */
export type AppRouter = typeof appRouter;
