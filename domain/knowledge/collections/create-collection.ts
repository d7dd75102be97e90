import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { spaceOf } from '#domain/foundation/access/space-of.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { claimKey, type IdempotentRequest } from '#domain/foundation/idempotency/idempotency.ts';
import { cleanText } from '#domain/foundation/kernel/clean-text.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { Collection } from './collection.entity.ts';
import { collectionLimits, requireDescription, requireText } from './collection-limits.ts';
import { findCollection } from './find-collection.ts';
import { knownConfig } from './text-search-config.ts';

export interface CreateCollection {
  name: string;
  description?: string | null;
  /** A text-search configuration of PostgreSQL; defaults to `english`. */
  textSearchConfig?: string;
  /** Omitted: false. */
  enforceSourceReaders?: boolean;
  idempotency?: IdempotentRequest | null;
}

/** @throws `missing_permission`, `invalid_request`, and the refusals of `claimKey`. */
export async function createCollection(
  ctx: Context,
  input: CreateCollection,
): Promise<{ collection: Collection; replayed: boolean }> {
  authorize(ctx.caller, 'collections.create');
  const id = newId();
  const claimed = input.idempotency ? await claimKey(ctx, input.idempotency, id) : id;
  if (claimed !== id) {
    return { collection: await findCollection(ctx, claimed), replayed: true };
  }
  const collection = ctx.em.create(Collection, {
    tenantId: ctx.caller.tenantId,
    id,
    spaceId: spaceOf(ctx.caller),
    name: requireText('name', cleanText(input.name), collectionLimits.name),
    description: requireDescription(input.description ?? null),
    textSearchConfig: await knownConfig(ctx, input.textSearchConfig ?? 'english'),
    enforceSourceReaders: input.enforceSourceReaders ?? false,
    createdBy: ctx.caller.principalId,
  });
  await ctx.em.persist(collection).flush();
  await recordEvent(ctx.em, ctx.caller, {
    type: 'collection.created',
    resource: { type: 'collection', id },
    metadata: { space_id: collection.spaceId },
  });
  return { collection, replayed: false };
}
