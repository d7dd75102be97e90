import { LockMode } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import { shareCollection } from '#domain/knowledge/collections/share-collection.ts';
import { Connector } from '#domain/knowledge/connectors/connector.entity.ts';
import { SyncRun } from '#domain/knowledge/connectors/sync-run.entity.ts';

/** The run is over, or is to be cancelled, or its connector is gone: nothing more may be stored for it. */
export class RunEnded extends Error {
  constructor() {
    super('The run has ended.');
    this.name = 'RunEnded';
  }
}

export interface RunningRun {
  connector: Connector;
  run: SyncRun;
}

/** @throws RunEnded */
export async function findRunning(em: EntityManager, runId: string): Promise<RunningRun> {
  const run = await em.findOne(SyncRun, { id: runId });
  const connector = run && (await em.findOne(Connector, { id: run.connectorId }));
  if (run === null || connector === null || run.status !== 'running' || run.cancelRequested) {
    throw new RunEnded();
  }
  return { connector, run };
}

/**
 * Locks the collection, then the run: attempts of one step follow each other, and a run that has ended stores nothing.
 * @throws RunEnded
 */
export async function lockRunning(em: EntityManager, runId: string): Promise<RunningRun> {
  const { connector } = await findRunning(em, runId);
  if (!(await shareCollection(em, connector.collectionId))) {
    throw new RunEnded();
  }
  const run = await em.findOne(
    SyncRun,
    { id: runId },
    { lockMode: LockMode.PESSIMISTIC_WRITE, refresh: true },
  );
  if (run?.status !== 'running' || run.cancelRequested) {
    throw new RunEnded();
  }
  return { connector, run };
}
