import { Context } from '@temporalio/activity';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { eraseScope } from '#domain/operations/scope-erasure/erase-scope.ts';
import { haltPrincipal } from '#domain/operations/scope-erasure/halt-principal.ts';
import { haltSpace } from '#domain/operations/scope-erasure/halt-space.ts';
import type { EraseScopeInput, EraseScopeSlice } from '#workflows/erase-scope/messages.ts';
import { keepAlive } from '../keep-alive.ts';

export interface ScopeErasureDependencies {
  unitOfWork: UnitOfWork;
  /** Runs as the purge role. */
  purge: UnitOfWork;
}

/** How long one slice goes on. */
const sliceMs = 20_000;

export function createScopeErasureActivities({ unitOfWork, purge }: ScopeErasureDependencies) {
  return {
    haltDeletedSpace: ({ tenantId, rootId: spaceId }: EraseScopeInput): Promise<number> =>
      keepAlive(() => haltSpace(unitOfWork, { tenantId, spaceId })),
    haltDeletedPrincipal: ({ tenantId, rootId: principalId }: EraseScopeInput): Promise<number> =>
      keepAlive(() => haltPrincipal({ unitOfWork, purge }, { tenantId, principalId })),
    /** What is left of the rows is the place where another attempt goes on. */
    eraseScopeSlice: (scope: EraseScopeInput): Promise<EraseScopeSlice> =>
      keepAlive(async () => {
        const { cancellationSignal } = Context.current();
        const until = performance.now() + sliceMs;
        let rows = 0;
        const isGone = await eraseScope(purge, scope, {
          mayGoOn: () => performance.now() < until && !cancellationSignal.aborted,
          erased: (_table, erased) => {
            rows += erased;
          },
        });
        return { isGone, rows };
      }),
  };
}
