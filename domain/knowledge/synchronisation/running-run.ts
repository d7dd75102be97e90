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
 * Takes the turn of a run until the end of the transaction: attempts of one step follow each other. Neither the run nor
 * its connector is locked, so that a person who ends the run does not wait: `lockTaken` must follow before something is
 * stored that refers to the connector. Lock order: collection, turn, connector, run.
 * @throws RunEnded
 */
export async function takeRun(em: EntityManager, runId: string): Promise<RunningRun> {
  const { connector } = await findRunning(em, runId);
  if (!(await shareCollection(em, connector.collectionId))) {
    throw new RunEnded();
  }
  const turn = `sync-run/${connector.tenantId}/${runId}`;
  await em.execute('select pg_advisory_xact_lock(hashtextextended(?, 0))', [turn]);
  const run = await em.findOne(SyncRun, { id: runId }, { refresh: true });
  if (run?.status !== 'running' || run.cancelRequested) {
    throw new RunEnded();
  }
  return { connector, run };
}

/** Locks what has been taken: a run that has ended stores nothing. @throws RunEnded */
export async function lockTaken(em: EntityManager, { connector, run }: RunningRun): Promise<void> {
  // A row is locked after its join, so after the connector.
  const found = await em.execute(
    `with held as materialized (select 1 from connectors where tenant_id = ? and id = ? for no key update)
     select 1 from sync_runs r, held
     where r.tenant_id = ? and r.id = ? and r.status = 'running' and not r.cancel_requested for update of r`,
    [connector.tenantId, connector.id, run.tenantId, run.id],
  );
  if (found.length === 0) {
    throw new RunEnded();
  }
}

/** Takes and locks a run, for a short transaction. @throws RunEnded */
export async function lockRunning(em: EntityManager, runId: string): Promise<RunningRun> {
  const taken = await takeRun(em, runId);
  await lockTaken(em, taken);
  return taken;
}
