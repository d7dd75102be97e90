import { responses } from './responses.ts';
import { router } from './trpc.ts';

export const appRouter = router({ responses });

/** The procedures' types, for `@trpc/client`. Import it as a type only. */
export type AppRouter = typeof appRouter;
