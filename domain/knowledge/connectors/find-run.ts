import { LockMode } from '@mikro-orm/core';
import { validate } from 'uuid';
import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { notFound } from '#domain/foundation/kernel/errors.ts';
import type { Page } from '#domain/foundation/kernel/page.ts';
import { keysetPage } from '#domain/foundation/persistence/keyset-list.ts';
import { findCollection } from '#domain/knowledge/collections/find-collection.ts';
import type { Connector } from './connector.entity.ts';
import { findConnector, type ConnectorRef } from './find-connector.ts';
import { SyncRun } from './sync-run.entity.ts';

export interface RunRef extends ConnectorRef {
  runId: string;
}

/**
 * A run of the connector; null: the newest.
 * @throws `sync_run_not_found`
 */
export async function findRun(
  { em }: Context,
  connector: Connector,
  runId: string | null,
  lockMode: LockMode = LockMode.NONE,
): Promise<SyncRun> {
  const where = { connectorId: connector.id, ...(runId === null ? {} : { id: runId }) };
  const run =
    runId === null || validate(runId)
      ? await em.findOne(SyncRun, where, { lockMode, orderBy: { createdAt: 'desc', id: 'desc' } })
      : null;
  if (run === null) {
    throw notFound('sync_run_not_found');
  }
  return run;
}

/** @throws `missing_permission`, `collection_not_found`, `connector_not_found`, `sync_run_not_found` */
export async function readRun(ctx: Context, ref: RunRef): Promise<SyncRun> {
  authorize(ctx.caller, 'connectors.read');
  return shownRun(ctx, ref, await findRun(ctx, await findConnector(ctx, ref), ref.runId));
}

/** A run as the caller may see it: each use case that returns one returns this. */
export async function shownRun(ctx: Context, ref: ConnectorRef, run: SyncRun): Promise<SyncRun> {
  return (await hidesDocuments(ctx, ref)) ? Object.assign(run, { hidesDocuments: true }) : run;
}

/** Newest first. @throws `missing_permission`, `collection_not_found`, `connector_not_found`, `invalid_cursor` */
export async function listRuns(
  ctx: Context,
  input: ConnectorRef & { limit: number; cursor: string | null },
): Promise<Page<SyncRun>> {
  authorize(ctx.caller, 'connectors.read');
  const { id: connectorId } = await findConnector(ctx, input);
  const { limit, cursor } = input;
  const page = await keysetPage(ctx, {
    limit,
    cursor,
    entity: SyncRun,
    where: { connectorId },
    operation: 'sync_runs.list',
    filters: { connectorId },
  });
  if (await hidesDocuments(ctx, input)) {
    page.items.forEach((run) => (run.hidesDocuments = true));
  }
  return page;
}

/** Errors are of documents of which nothing is stored: their readers are unknown, as in `listSourceDocuments`. */
async function hidesDocuments(ctx: Context, { collectionId }: ConnectorRef): Promise<boolean> {
  const { enforceSourceReaders } = await findCollection(ctx, collectionId);
  return enforceSourceReaders && !ctx.caller.granted.has('connectors.update');
}
