import type { Dispatcher } from '#domain/kernel/dispatcher.ts';
import { purgeExpired } from '#domain/maintenance/purge-expired.ts';
import { reconcileDocuments } from '#domain/maintenance/reconcile-documents.ts';
import { reconcileResponses, type ReconcileDependencies } from '#domain/maintenance/reconcile-responses.ts';
import type { UnitOfWork } from '#domain/persistence/unit-of-work.ts';

export interface MaintenanceDependencies extends ReconcileDependencies {
  /** Works as the purge role. */
  purge: UnitOfWork;
  dispatcher: Dispatcher;
}

export function createMaintenanceActivities(deps: MaintenanceDependencies) {
  return {
    reconcile: async () => {
      const starts = [...(await reconcileResponses(deps)), ...(await reconcileDocuments(deps))];
      for (const start of starts) {
        await deps.dispatcher.dispatch(start);
      }
      return { restarted: starts.length };
    },
    purgeExpired: async () => ({ purged: await purgeExpired(deps.database, deps.purge) }),
    maintainPartitions: async () => {
      await deps.purge.acrossTenants((em) => em.execute('select app.maintain_partitions()'));
    },
  };
}
