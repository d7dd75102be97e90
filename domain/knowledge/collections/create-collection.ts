import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { spaceOf } from '#domain/foundation/access/space-of.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { claimKey, type IdempotentRequest } from '#domain/foundation/idempotency/idempotency.ts';
import { cleanText } from '#domain/foundation/kernel/clean-text.ts';
import { invalid } from '#domain/foundation/kernel/errors.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { Collection } from './collection.entity.ts';
import { collectionLimits, requireText } from './collection-limits.ts';
import { findCollection } from './find-collection.ts';

export interface CreateCollection {
  name: string;
  description?: string | null;
  /** A text-search configuration of PostgreSQL; defaults to `english`. */
  textSearchConfig?: string;
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
  const description = cleanText(input.description ?? '').trim();
  if (description.length > collectionLimits.description) {
    throw invalid('description', `description must have at most ${collectionLimits.description} characters.`);
  }
  const collection = ctx.em.create(Collection, {
    tenantId: ctx.caller.tenantId,
    id,
    spaceId: spaceOf(ctx.caller),
    name: requireText('name', cleanText(input.name), collectionLimits.name),
    description: description === '' ? null : description,
    textSearchConfig: await knownConfig(ctx, input.textSearchConfig ?? 'english'),
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

async function knownConfig(ctx: Context, name: string): Promise<string> {
  const found = await ctx.em.execute(
    `select from pg_ts_config where cfgname = ? and cfgnamespace = 'pg_catalog'::regnamespace`,
    [cleanText(name)],
  );
  if (found.length === 0) {
    throw invalid('text_search_config', 'No such text search configuration.');
  }
  return name;
}
