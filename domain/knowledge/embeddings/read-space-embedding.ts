import type { EntityManager } from '@mikro-orm/postgresql';
import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { spaceOf } from '#domain/foundation/access/space-of.ts';
import { liveGenerations, type LiveGeneration } from './live-generations.ts';

/** How the documents of a space are embedded. */
export interface SpaceEmbedding {
  /** What searches use; null before the first document was embedded. */
  active: LiveGeneration | null;
  /** What replaces it when it is complete. */
  building: LiveGeneration | null;
  /** Documents that are found by keyword only so far. */
  pendingDocuments: number;
}

/** A count is exact up to this number. */
const maxCounted = 10_000;

/** @throws `missing_permission` */
export async function readSpaceEmbedding(ctx: Context): Promise<SpaceEmbedding> {
  authorize(ctx.caller, 'collections.read');
  return spaceEmbedding(ctx.em, spaceOf(ctx.caller));
}

export async function spaceEmbedding(em: EntityManager, spaceId: string): Promise<SpaceEmbedding> {
  const live = await liveGenerations(em, spaceId);
  const [row] = await em.execute<{ n: number }[]>(
    `select count(*)::int4 as n from (
       select from documents where embedding_pending and chunk_count > 0
         and collection_id in (select id from collections where space_id = ?) limit ${maxCounted}) as pending`,
    [spaceId],
  );
  const inState = (state: string) => live.find(({ generation }) => generation.state === state) ?? null;
  return { active: inState('active'), building: inState('building'), pendingDocuments: row?.n ?? 0 };
}
