import { dueAttempts } from '#domain/operations/connections/due-attempts.ts';
import { revokeConnections } from '#domain/operations/connections/revoke-connections.ts';
import { anchorLog, dropLog, sealLog } from './event-log.ts';
import { dropVectorGraphs } from './drop-vector-graphs.ts';
import { expireInvites } from './expire-invites.ts';
import { listedSweep } from '#domain/operations/sweep-kinds/listed-sweep.ts';
import { maintainPartitions } from './maintain-partitions.ts';
import { measureCollections } from './measure-collections.ts';
import { purgeContent } from './purge-content.ts';
import { purgeEmbeddings } from './purge-embeddings.ts';
import { purgeNotifications } from './purge-notifications.ts';
import { purgeOrphans } from './purge-orphans.ts';
import { purgePassages } from './purge-passages.ts';
import { purgeResponses } from './purge-responses.ts';
import { purgeSignIns } from './purge-sign-ins.ts';
import { purgeStaleRows } from './purge-stale-rows.ts';
import { purgeSyncRuns } from './purge-sync-runs.ts';
import { purgeThreads } from './purge-threads.ts';
import { reconcileCalls } from './reconcile-calls.ts';
import { reconciliation } from './reconciliation.ts';
import { reindexCollections } from './reindex-collections.ts';
import { retireSweeps } from './retire-sweeps.ts';
import type { Sweep } from '#domain/operations/sweep-kinds/sweep.ts';

/** How often a sweep is due, as settings of the worker name it. */
export type Pace = 'sweep' | 'seal' | 'anchor' | 'hour' | 'day';

export interface PlannedSweep {
  sweep: Sweep;
  pace: Pace;
  /**
   * After so many seconds a round ends, so that others get the connections; the next round continues where it stopped.
   */
  budgetSeconds: number;
}

const revocations: Sweep = revokeConnections;

/** All periodic sweeps. The name is that of its activity; its actor in Temporal is `upkeep/<name>`. */
export const sweeps = {
  reconcileResponses: { sweep: reconciliation.generateResponse, pace: 'sweep', budgetSeconds: 20 },
  reconcileDocuments: { sweep: reconciliation.ingestDocument, pace: 'sweep', budgetSeconds: 20 },
  reconcileEmbeddings: { sweep: reconciliation.embedSpace, pace: 'sweep', budgetSeconds: 20 },
  reconcileConnectors: { sweep: reconciliation.runConnector, pace: 'sweep', budgetSeconds: 20 },
  reconcileFanOuts: { sweep: reconciliation.fanOutEvent, pace: 'sweep', budgetSeconds: 20 },
  reconcileDeletions: { sweep: reconciliation.deleteTenant, pace: 'sweep', budgetSeconds: 20 },
  reconcileErasures: { sweep: reconciliation.eraseScope, pace: 'sweep', budgetSeconds: 20 },
  reconcileCalls: { sweep: reconcileCalls, pace: 'sweep', budgetSeconds: 20 },
  endAttempts: { sweep: listedSweep(dueAttempts), pace: 'sweep', budgetSeconds: 20 },
  revokeConnections: { sweep: revocations, pace: 'sweep', budgetSeconds: 20 },
  expireInvites: { sweep: expireInvites, pace: 'sweep', budgetSeconds: 20 },
  purgeResponses: { sweep: purgeResponses, pace: 'sweep', budgetSeconds: 20 },
  purgeOrphans: { sweep: purgeOrphans, pace: 'day', budgetSeconds: 20 },
  purgeStaleRows: { sweep: purgeStaleRows, pace: 'sweep', budgetSeconds: 20 },
  purgeSignIns: { sweep: purgeSignIns, pace: 'sweep', budgetSeconds: 20 },
  purgeThreads: { sweep: purgeThreads, pace: 'sweep', budgetSeconds: 20 },
  purgeNotifications: { sweep: purgeNotifications, pace: 'sweep', budgetSeconds: 20 },
  purgeSyncRuns: { sweep: purgeSyncRuns, pace: 'day', budgetSeconds: 20 },
  purgePassages: { sweep: purgePassages, pace: 'sweep', budgetSeconds: 20 },
  purgeEmbeddings: { sweep: purgeEmbeddings, pace: 'sweep', budgetSeconds: 20 },
  dropVectorGraphs: { sweep: dropVectorGraphs, pace: 'sweep', budgetSeconds: 20 },
  purgeContent: { sweep: purgeContent, pace: 'sweep', budgetSeconds: 20 },
  reindexCollections: { sweep: reindexCollections, pace: 'sweep', budgetSeconds: 20 },
  measureCollections: { sweep: measureCollections, pace: 'hour', budgetSeconds: 20 },
  maintainPartitions: { sweep: maintainPartitions, pace: 'hour', budgetSeconds: 60 },
  dropOldEvents: { sweep: dropLog, pace: 'hour', budgetSeconds: 20 },
  sealEvents: { sweep: sealLog, pace: 'seal', budgetSeconds: 20 },
  retireSweeps: { sweep: retireSweeps, pace: 'hour', budgetSeconds: 20 },
  anchorChains: { sweep: anchorLog, pace: 'anchor', budgetSeconds: 60 },
} satisfies Record<string, PlannedSweep>;

export type SweepName = keyof typeof sweeps;
export const sweepNames = Object.keys(sweeps) as SweepName[];
