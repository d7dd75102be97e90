import { apiKeys, principals } from './access.ts';
import { collections, documents } from './collections.ts';
import { models, prices } from './models.ts';
import { responses } from './responses.ts';
import { members, spaces } from './spaces.ts';
import { toolServers } from './tool-servers.ts';
import { governance, threads } from './threads.ts';
import { tenants } from './tenants.ts';
import { router } from './trpc.ts';
import { workflows } from './workflows.ts';

/** Every procedure that operators and internal tools may call. */
export const appRouter = router({
  responses,
  workflows,
  tenants,
  spaces,
  members,
  principals,
  apiKeys,
  models,
  prices,
  collections,
  documents,
  toolServers,
  threads,
  governance,
});

/** The procedures' types, for `@trpc/client`. Import it as a type only. */
export type AppRouter = typeof appRouter;
