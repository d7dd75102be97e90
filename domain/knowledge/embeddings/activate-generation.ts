import type { EntityManager } from '@mikro-orm/postgresql';
import { averageUuid } from '#domain/foundation/persistence/average-uuid.ts';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { withStatementTimeout } from '#domain/foundation/persistence/statement-timeout.ts';
import { withoutNestedLoops } from '#domain/foundation/persistence/without-nested-loops.ts';
import { EmbeddingGeneration } from './embedding-generation.entity.ts';
import { lockGeneration } from './start-generation.ts';

/** The state of all documents of a space is compared at once. */
const compareTimeoutMs = 60_000;

/**
 * Makes the generation that was built the one of searches, and retires the one before, in one step. Documents without
 * all of its vectors, such as those that were stored meanwhile, are found by keyword until they have them.
 * @returns whether it is active
 */
export async function activateGeneration(
  em: EntityManager,
  { tenantId, spaceId, embeddingId }: { tenantId: string; spaceId: string; embeddingId: string },
): Promise<boolean> {
  const before = await em.findOne(EmbeddingGeneration, { spaceId, state: 'active' }, { fields: ['id'] });
  const retired = before && (await lockGeneration(em, before.id));
  const built = await lockGeneration(em, embeddingId);
  if (built?.state !== 'building') {
    return built?.state === 'active';
  }
  const now = await databaseNow(em);
  if (retired?.state === 'active') {
    Object.assign(retired, { state: 'retired', endedAt: now });
    await em.flush();
  }
  Object.assign(built, { state: 'active', activatedAt: now });
  await em.flush();
  await withStatementTimeout(em, compareTimeoutMs, () =>
    withoutNestedLoops(em, () => countVectors(em, { tenantId, spaceId, embeddingId })),
  );
  return true;
}

/** Counts the vectors of all documents at once. */
async function countVectors(
  em: EntityManager,
  { tenantId, spaceId, embeddingId }: { tenantId: string; spaceId: string; embeddingId: string },
): Promise<void> {
  await em.execute(
    `with vectors as materialized (
       select document_id, generation, count(*)::int4 as embedded from chunk_embeddings
       where tenant_id = ${averageUuid} and embedding_id = ${averageUuid} group by document_id, generation),
     counted as materialized (
       select o.id, o.generation, coalesce(v.embedded, 0) as embedded
       from documents o join collections c on c.tenant_id = o.tenant_id and c.id = o.collection_id
       left join vectors v on v.document_id = o.id and v.generation = o.generation
       where o.tenant_id = ${averageUuid} and c.space_id = ?)
     update documents d
     set embedding_error = null, embedding_pending = n.embedded < d.chunk_count, embedded_count = n.embedded
     from counted n
     where d.tenant_id = ${averageUuid} and d.id = n.id and d.generation = n.generation
       and (d.embedding_pending, d.embedded_count) is distinct from (n.embedded < d.chunk_count, n.embedded)`,
    [tenantId, embeddingId, tenantId, spaceId, tenantId],
  );
}
