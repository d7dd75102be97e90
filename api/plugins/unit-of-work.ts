import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Context } from '#domain/access/context.ts';
import { loadCaller } from '#domain/access/load-caller.ts';
import type { Dispatch, Dispatcher } from '#domain/kernel/dispatcher.ts';
import { reach } from '#domain/kernel/failpoint.ts';
import type { Secrets } from '#domain/kernel/secrets.ts';
import type { UnitOfWork } from '#domain/persistence/unit-of-work.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /**
     * Runs one use case in one transaction of the caller's tenant, with the caller's rights there (and in
     * `spaceId`) read in it. What it owes to the engine is sent after the commit, in the background.
     */
    inContext<T>(spaceId: string | null, work: (ctx: Context) => Promise<T>): Promise<T>;
  }
}

export interface ContextDependencies {
  unitOfWork: UnitOfWork;
  secrets: Secrets;
  dispatcher: Dispatcher;
}

export function provideContext(app: FastifyInstance, deps: ContextDependencies): void {
  app.decorateRequest('inContext', async function inContext<
    T,
  >(this: FastifyRequest, spaceId: string | null, work: (ctx: Context) => Promise<T>): Promise<T> {
    const dispatches: Dispatch[] = [];
    const result = await deps.unitOfWork.inTenant(this.identity.tenantId, async (em) => {
      const caller = await loadCaller(em, this.identity, { via: 'api', requestId: this.id }, spaceId);
      return work({ caller, em, secrets: deps.secrets, dispatches });
    });
    reach('create.after_commit');
    for (const dispatch of dispatches) {
      void deps.dispatcher.dispatch(dispatch);
    }
    return result;
  });
}
