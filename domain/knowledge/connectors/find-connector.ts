import { LockMode } from '@mikro-orm/core';
import { validate } from 'uuid';
import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { notFound } from '#domain/foundation/kernel/errors.ts';
import type { Page } from '#domain/foundation/kernel/page.ts';
import { keysetPage } from '#domain/foundation/persistence/keyset-list.ts';
import { findCollection } from '#domain/knowledge/collections/find-collection.ts';
import { Connector } from './connector.entity.ts';
import type { ConnectorStatus } from './connector-status.ts';

export interface ConnectorRef {
  collectionId: string;
  connectorId: string;
}

/** @throws `collection_not_found`, `connector_not_found`, also for a connector of another collection */
export async function findConnector(
  ctx: Context,
  { collectionId, connectorId }: ConnectorRef,
  lockMode: LockMode = LockMode.NONE,
): Promise<Connector> {
  const collection = await findCollection(ctx, collectionId);
  const where = { id: connectorId, collectionId: collection.id };
  const connector = validate(connectorId) ? await ctx.em.findOne(Connector, where, { lockMode }) : null;
  if (connector === null) {
    throw notFound('connector_not_found');
  }
  return connector;
}

/** Like `findConnector`, locked for a change: changes of a connector and beginnings of its runs exclude each other. */
export function lockConnector(ctx: Context, ref: ConnectorRef): Promise<Connector> {
  return findConnector(ctx, ref, LockMode.PESSIMISTIC_WRITE);
}

/** @throws `missing_permission`, `collection_not_found`, `connector_not_found` */
export async function readConnector(ctx: Context, ref: ConnectorRef): Promise<Connector> {
  authorize(ctx.caller, 'connectors.read');
  return findConnector(ctx, ref);
}

/** Newest first. @throws `missing_permission`, `collection_not_found`, `invalid_cursor` */
export async function listConnectors(
  ctx: Context,
  input: { collectionId: string; status: ConnectorStatus | null; limit: number; cursor: string | null },
): Promise<Page<Connector>> {
  authorize(ctx.caller, 'connectors.read');
  const { id: collectionId } = await findCollection(ctx, input.collectionId);
  const { status, limit, cursor } = input;
  return keysetPage(ctx, {
    limit,
    cursor,
    entity: Connector,
    where: { collectionId, ...(status === null ? {} : { status }) },
    operation: 'connectors.list',
    filters: { collectionId, status },
  });
}
