import { ForeignKeyConstraintViolationException } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Origin } from '#domain/foundation/access/caller.ts';
import { createContext, type Context } from '#domain/foundation/access/context.ts';
import { loadCaller } from '#domain/foundation/access/load-caller.ts';
import type { Secrets } from '#domain/foundation/kernel/secrets.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { requireOpenTenant } from '#domain/identity/sign-in/require-open-tenant.ts';
import { sealField } from '#domain/foundation/secrets/seal-field.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /**
     * Runs one use case in one transaction of the caller's tenant, with the caller's permissions there (and in `space`)
     * loaded in it. Messages that it enqueues are sent after the commit, in the background.
     * @param whileDeleting whether holders of `tenants.delete` are admitted also while their tenant is to be deleted
     */
    inContext<T>(
      space: SpaceOfCall,
      work: (ctx: Context) => Promise<T>,
      options?: { whileDeleting?: boolean },
    ): Promise<T>;
  }
}

/** The space of a call: an id, none, or resolved in the caller's tenant. */
export type SpaceOfCall = string | null | ((em: EntityManager) => Promise<string | null>);

export interface ContextDependencies {
  unitOfWork: UnitOfWork;
  secrets: Secrets;
}

export function provideContext(app: FastifyInstance, deps: ContextDependencies): void {
  app.decorateRequest('inContext', async function inContext<
    T,
  >(this: FastifyRequest, space: SpaceOfCall, work: (ctx: Context) => Promise<T>, { whileDeleting = false }: { whileDeleting?: boolean } = {}): Promise<T> {
    const { tenantId } = this.identity;
    const run = deps.unitOfWork.inTenant(tenantId, async (em) => {
      const spaceId = typeof space === 'function' ? await space(em) : space;
      const admission = { spaceId, whileDeleting };
      const caller = await loadCaller(em, this.identity, originOf(this, deps.secrets), admission);
      return work(createContext({ caller, em, secrets: deps.secrets }));
    });
    return run.catch(async (error: unknown) => {
      // What the request refers to may be gone because its tenant was erased after it had been admitted.
      if (error instanceof ForeignKeyConstraintViolationException) {
        await deps.unitOfWork.inTenant(tenantId, (em) => requireOpenTenant(em, tenantId));
      }
      throw error;
    });
  });
}

/** Origin of recorded events: the request's id and the client's address, sealed when an event needs it. */
export function originOf(request: FastifyRequest, secrets: Secrets): Origin {
  const { tenantId, principalId } = request.identity;
  return {
    via: 'api',
    requestId: request.id,
    sealedIp: async (em, logOf) =>
      logOf !== tenantId
        ? null
        : sealField(
            { em, secrets },
            { tenantId, table: 'principals', column: 'ip', row: principalId },
            request.ip,
            principalId,
          ),
  };
}
