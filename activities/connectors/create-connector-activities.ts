import type { RunConnectorInput } from '#workflows/run-connector/messages.ts';
import type {
  CheckSourceInput,
  FinishSyncInput,
  SyncConnectorInput,
} from '#workflows/sync-connector/messages.ts';
import { planRun, type Plan } from '#domain/knowledge/connectors/plan-run.ts';
import { purgeConnector } from '#domain/knowledge/synchronisation/purge-connector.ts';
import { reportStale } from '#domain/knowledge/connectors/report-stale.ts';
import { restartListing } from '#domain/knowledge/synchronisation/restart-listing.ts';
import { RunEnded } from '#domain/knowledge/synchronisation/running-run.ts';
import { keepAlive } from '../keep-alive.ts';
import { checkSource } from './check-source.ts';
import { detectDeletions } from './detect-deletions.ts';
import type { FetchDependencies } from './fetch-document.ts';
import { fetchPages } from './fetch-pages.ts';
import { finishSync } from './finish-sync.ts';

export type ConnectorDependencies = FetchDependencies;

/** How long one step of a deletion goes on. */
const purgeMs = 20_000;

export function createConnectorActivities(deps: ConnectorDependencies) {
  const { unitOfWork, sources } = deps;
  return {
    planRun: ({ tenantId, connectorId }: RunConnectorInput): Promise<Plan> =>
      unitOfWork.inTenant(tenantId, async (em) => {
        await reportStale(em, connectorId);
        return planRun(em, connectorId, (slug) => sources.find(slug)?.detects.push === true);
      }),
    checkSource: (input: CheckSourceInput) => keepAlive(({ signal }) => checkSource(deps, input, signal)),
    fetchPages: (input: SyncConnectorInput) => keepAlive(({ signal }) => fetchPages(deps, input, signal)),
    restartListing: ({ tenantId, runId }: SyncConnectorInput) =>
      unitOfWork
        .inTenant(tenantId, (em) => restartListing(em, runId))
        .catch((error: unknown) => {
          if (error instanceof RunEnded) {
            return false;
          }
          throw error;
        }),
    detectDeletions: (input: SyncConnectorInput) =>
      keepAlive(({ signal }) => detectDeletions(deps, input, signal)),
    finishSync: (input: FinishSyncInput) => finishSync(deps, input),
    purgeConnector: ({ tenantId, connectorId }: RunConnectorInput) =>
      keepAlive(async () => {
        const end = Date.now() + purgeMs;
        let isGone: boolean;
        do {
          isGone = await unitOfWork.inTenant(tenantId, (em) => purgeConnector(em, connectorId));
        } while (!isGone && Date.now() < end);
        return { isGone };
      }),
  };
}
