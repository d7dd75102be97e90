import { keepAlive } from '../keep-alive.ts';
import type { Dispatcher } from '#domain/kernel/dispatcher.ts';
import { anchorChains } from '#domain/events/anchor-chains.ts';
import type { AnchorLog } from '#domain/events/anchor.ts';
import { dropOldEvents } from '#domain/events/drop-old-events.ts';
import { sealEvents } from '#domain/events/seal-events.ts';
import type { Secrets } from '#domain/kernel/secrets.ts';
import { expireInvites } from '#domain/maintenance/expire-invites.ts';
import { maintainPartitions } from '#domain/maintenance/maintain-partitions.ts';
import { purgeExpired } from '#domain/maintenance/purge-expired.ts';
import { purgeThreads } from '#domain/maintenance/purge-threads.ts';
import { reconcileCalls } from '#domain/maintenance/reconcile-calls.ts';
import { reconcileDocuments } from '#domain/maintenance/reconcile-documents.ts';
import { purgeNotifications } from '#domain/maintenance/purge-notifications.ts';
import { reconcileFanOuts } from '#domain/maintenance/reconcile-fan-outs.ts';
import { reconcileResponses } from '#domain/maintenance/reconcile-responses.ts';
import type { ReconcileDependencies } from '#domain/maintenance/reconcile.ts';
import type { UnitOfWork } from '#domain/persistence/unit-of-work.ts';

export interface MaintenanceDependencies extends ReconcileDependencies {
  /** Works as the purge role. */
  purge: UnitOfWork;
  dispatcher: Dispatcher;
  secrets: Secrets;
  anchors: AnchorLog;
  eventRetentionDays: number;
}

export function createMaintenanceActivities(deps: MaintenanceDependencies) {
  return {
    reconcile: async () => {
      const rounds = [
        await reconcileResponses(deps),
        await reconcileDocuments(deps),
        await reconcileFanOuts(deps),
      ];
      const starts = rounds.flatMap((round) => round.starts);
      for (const start of starts) {
        await deps.dispatcher.dispatch(start);
      }
      const calls = await reconcileCalls(deps);
      const invites = await expireInvites(deps);
      const failed = rounds.reduce((sum, round) => sum + round.failed, calls.failed + invites.failed);
      return { restarted: starts.length, failed };
    },
    purgeExpired: async () => {
      const responses = await purgeExpired(deps.database, deps.purge);
      const threads = await purgeThreads(deps.database, deps.purge);
      const notifications = await purgeNotifications(deps.database, deps.purge);
      return {
        purged: responses.purged + threads.purged,
        failed: responses.failed + threads.failed + notifications.failed,
      };
    },
    maintainPartitions: async () => {
      await maintainPartitions(deps.purge);
      const { dropped, failed } = await dropOldEvents(deps.purge, deps.eventRetentionDays);
      if (dropped > 0) {
        // Where the chains begin now, while it is plain why.
        await anchorChains(deps, deps.eventRetentionDays);
      }
      return { failed };
    },
    sealEvents: () => keepAlive(() => sealEvents(deps)),
    anchorChains: () => anchorChains(deps, deps.eventRetentionDays),
  };
}
