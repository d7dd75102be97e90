import { validate } from 'uuid';
import { reachesOwn } from '#domain/foundation/access/authorize-own.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import { refusal } from '#domain/foundation/access/policy.ts';
import { notFound } from '#domain/foundation/kernel/errors.ts';
import { spacesGranting } from '#domain/identity/roles/spaces-granting.ts';
import { Collection } from '#domain/knowledge/collections/collection.entity.ts';

/** A space to search. */
export interface SearchTarget {
  spaceId: string;
  /** null: every collection of the space. */
  collectionIds: string[] | null;
}

/**
 * The spaces of the named collections, else all spaces with passages that the caller may search.
 * @throws `missing_permission` where no space may be searched; `collection_not_found`, also for a collection of a
 *   space that the caller may not search
 */
export async function findTargets(ctx: Context, collectionIds: string[] | null): Promise<SearchTarget[]> {
  const allowed = await searchableSpaces(ctx);
  return collectionIds === null ? spacesWithPassages(ctx, allowed) : spacesOf(ctx, allowed, collectionIds);
}

/** null: every space of the tenant. */
async function searchableSpaces(ctx: Context): Promise<string[] | null> {
  const permission = 'knowledge.search';
  if (ctx.caller.granted.has(permission)) {
    return null;
  }
  const spaces = reachesOwn(ctx.caller, permission) ? await spacesGranting(ctx, permission) : [];
  if (spaces.length === 0) {
    throw refusal(ctx.caller, [permission], permission);
  }
  return spaces;
}

async function spacesWithPassages(
  { caller, em }: Context,
  allowed: string[] | null,
): Promise<SearchTarget[]> {
  const rows = await em.execute<{ space_id: string }[]>(
    `select distinct space_id from collections
     where tenant_id = ? and chunk_count > 0 and space_id in (select id from spaces where tenant_id = ?) ${allowed === null ? '' : 'and space_id = any(?::uuid[])'}
     order by space_id`,
    [caller.tenantId, caller.tenantId, ...(allowed === null ? [] : [`{${allowed.join(',')}}`])],
  );
  return rows.map(({ space_id: spaceId }) => ({ spaceId, collectionIds: null }));
}

async function spacesOf(
  { em }: Context,
  allowed: string[] | null,
  collectionIds: string[],
): Promise<SearchTarget[]> {
  const wanted = new Set(collectionIds);
  const found = collectionIds.every((id) => validate(id))
    ? await em.find(Collection, {
        id: { $in: [...wanted] },
        ...(allowed === null ? {} : { spaceId: { $in: allowed } }),
      })
    : [];
  if (found.length < wanted.size) {
    throw notFound('collection_not_found');
  }
  const bySpace = Map.groupBy(found, ({ spaceId }) => spaceId);
  return [...bySpace].map(([spaceId, members]) => ({ spaceId, collectionIds: members.map(({ id }) => id) }));
}
