import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { signalWithStart } from '#domain/foundation/durable/messages.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { claimKey, type IdempotentRequest } from '#domain/foundation/idempotency/idempotency.ts';
import { DomainError, notFound } from '#domain/foundation/kernel/errors.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { findCollection } from '#domain/knowledge/collections/find-collection.ts';
import { shareCollection } from '#domain/knowledge/collections/share-collection.ts';
import { requireSource, type GivenSource } from './connector-spec.ts';
import { Connector } from './connector.entity.ts';
import { eventOf } from './connector-event.ts';
import { findConnector } from './find-connector.ts';
import { queueRun } from './queue-run.ts';
import type { SourceCatalogue } from './source-providers.ts';
import { requireSchedule, type SyncSchedule } from './sync-schedule.ts';

export interface CreateConnector extends GivenSource {
  collectionId: string;
  syncSchedule: SyncSchedule | null;
  idempotency: IdempotentRequest | null;
}

/** Max connectors of a collection. */
const maxConnectors = 100;

/**
 * Creates a connector on behalf of the caller, and begins its first run unless its schedule is `manual`, or an account
 * has to be connected before.
 * @throws `missing_permission`, `collection_not_found`, `invalid_request`, `invalid_state` for too many connectors, and
 *   the refusals of `claimKey`
 */
export async function createConnector(
  ctx: Context,
  providers: SourceCatalogue,
  input: CreateConnector,
): Promise<{ connector: Connector; replayed: boolean }> {
  const { caller, em } = ctx;
  authorize(caller, 'connectors.create');
  const collection = await findCollection(ctx, input.collectionId);
  const id = newId();
  const claimed = input.idempotency === null ? id : await claimKey(ctx, input.idempotency, id);
  if (claimed !== id) {
    const ref = { collectionId: collection.id, connectorId: claimed };
    return { connector: await findConnector(ctx, ref), replayed: true };
  }
  const syncSchedule = requireSchedule(input.syncSchedule);
  const scopeConfig = await requireSource(ctx, providers, input, collection.spaceId);
  if (!(await shareCollection(em, collection.id))) {
    throw notFound('collection_not_found');
  }
  if ((await em.count(Connector, { collectionId: collection.id })) >= maxConnectors) {
    throw new DomainError('invalid_state', `A collection has at most ${maxConnectors} connectors.`);
  }
  const { tenantId, principalId } = caller;
  const needsConnection = input.clientCredentialId != null;
  const connector = em.create(Connector, {
    tenantId,
    id,
    spaceId: collection.spaceId,
    collectionId: collection.id,
    providerSlug: input.providerSlug,
    principalId,
    credentialId: input.credentialId,
    clientCredentialId: input.clientCredentialId ?? null,
    scopeConfig,
    syncSchedule,
    status: needsConnection ? 'auth_required' : 'pending',
  });
  await em.persist(connector).flush();
  await recordEvent(em, caller, eventOf('collection.connector_created', connector));
  if (syncSchedule?.type !== 'manual' && !needsConnection) {
    await queueRun(em, connector, { trigger: 'initial', mode: 'incremental', createdBy: principalId });
  }
  await ctx.enqueue(signalWithStart('runConnector', { tenantId, connectorId: id }, 'configChanged', []));
  return { connector, replayed: false };
}
