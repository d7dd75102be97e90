import type { EntityManager } from '@mikro-orm/postgresql';
import type { InTransaction } from './embed-document.ts';
import type { FindLists } from './find-lists.ts';
import { learnLists } from './learn-lists.ts';
import type { LiveGeneration } from './live-generations.ts';
import { bytesToFloats } from './quantise.ts';
import { sampleVectors } from './sample-vectors.ts';
import { readLists, type VectorLists } from './vector-lists.ts';

/** Work on the vectors of a generation that takes several slices of time. */
export interface GenerationWork {
  inTransaction: InTransaction;
  target: LiveGeneration;
  signal: AbortSignal;
  /** Whether time is up: asked after each batch. */
  isOver: () => boolean;
}

export interface Partitioning extends GenerationWork {
  findLists: FindLists;
}

/** Passages of a space from which its vectors are divided into lists; `app.list_unembedded_spaces` has the same number. */
export const listedFrom = 300_000;
/** Searches read a share of them: the more there are, the closer that share is to the question. */
const lists = 512;
/** Vectors that lists are learned from. */
const sampleSize = 30 * lists;
/** Max bytes of them: vectors of some models are long. */
const maxSampleBytes = 16 * 1024 * 1024;
/** Vectors per transaction. */
const batchSize = 1_000;

/**
 * Divides the vectors of a large generation into lists, once: learns them from a sample, then gives each vector its list.
 * Searches go on meanwhile, since they also read vectors without a list. All of it may be repeated.
 * @returns whether nothing is left to do
 */
export async function partitionGeneration(work: Partitioning): Promise<boolean> {
  const { inTransaction, target, isOver } = work;
  const { tenantId, id: embeddingId } = target.generation;
  const key = { tenantId, embeddingId, mean: bytesToFloats(target.generation.mean) };
  if (!(await inTransaction((em) => isDue(em, target.generation)))) {
    return true;
  }
  const known = (await inTransaction((em) => readLists(em, key))) ?? (await learn(work, key));
  if (known === null) {
    return true;
  }
  for (let after: string | null = null; ;) {
    const batch: Unlisted[] = await inTransaction((em) => unlisted(em, key, after));
    const last = batch.at(-1);
    if (last === undefined) {
      await inTransaction((em) => notePartitioned(em, key));
      return true;
    }
    const listed = await assign(work, key, batch, known);
    await inTransaction((em) => storeLists(em, key, listed));
    after = last.place;
    if (isOver()) {
      return false;
    }
  }
}

interface Key {
  tenantId: string;
  embeddingId: string;
  mean: Float32Array;
}

async function isDue(
  em: EntityManager,
  { tenantId, id, spaceId }: LiveGeneration['generation'],
): Promise<boolean> {
  const rows = await em.execute<unknown[]>(
    `select from embedding_generations g where g.tenant_id = ? and g.id = ? and g.partitioned_at is null
       and (g.centroids is not null or ${listedFrom} <= (
         select sum(c.chunk_count) from collections c where c.tenant_id = ? and c.space_id = ?))`,
    [tenantId, id, tenantId, spaceId],
  );
  return rows.length > 0;
}

/** Two workers may learn at once: the lists of the first are those of both. @returns null without any vector */
async function learn(work: Partitioning, key: Key): Promise<VectorLists | null> {
  const { inTransaction, findLists, signal } = work;
  const size = Math.min(sampleSize, Math.floor(maxSampleBytes / key.mean.length));
  const sample = await sampleVectors(inTransaction, key, size);
  if (sample.length === 0) {
    return null;
  }
  const learned = await learnLists({ ...key, sample, lists, findLists, signal });
  return inTransaction(async (em) => {
    await em.execute(
      `update embedding_generations set centroids = ?, list_count = ?
       where tenant_id = ? and id = ? and centroids is null and state in ('active', 'building')`,
      [learned.toBytes(key.mean), learned.count, key.tenantId, key.embeddingId],
    );
    return readLists(em, key);
  });
}

interface Unlisted {
  collection_id: string;
  document_id: string;
  generation: number;
  position: number;
  /** The row's place in the order of the primary key, as the next batch's beginning. */
  place: string;
  vector: Buffer;
}

/** In the order of the primary key: the rows of a batch before, which now have a list, need not be passed again. */
async function unlisted(
  em: EntityManager,
  { tenantId, embeddingId }: Key,
  after: string | null,
): Promise<Unlisted[]> {
  return em.execute<Unlisted[]>(
    `select v.collection_id, v.document_id, v.generation, v.position, e.vector,
            jsonb_build_array(v.collection_id, v.document_id, v.generation, v.position)::text as place
     from chunk_vectors v
     join chunk_embeddings e on e.tenant_id = v.tenant_id and e.embedding_id = v.embedding_id
       and e.document_id = v.document_id and e.generation = v.generation and e.position = v.position
     where v.tenant_id = ? and v.embedding_id = ? and v.list = 0 and ${
       after === null
         ? 'true'
         : `(v.collection_id, v.document_id, v.generation, v.position) > (?::uuid, ?::uuid, ?::integer, ?::integer)`
     }
     order by v.collection_id, v.document_id, v.generation, v.position limit ${batchSize}`,
    [tenantId, embeddingId, ...(after === null ? [] : (JSON.parse(after) as unknown[]))],
  );
}

async function assign(
  { findLists, signal }: Partitioning,
  { tenantId, mean }: Key,
  batch: readonly Unlisted[],
  lists: VectorLists,
): Promise<object[]> {
  const vectors = batch.map(({ vector }) => vector);
  const found = await findLists({ tenantId, vectors, mean, lists }, signal);
  return batch.map(({ collection_id, document_id, generation, position }, index) => ({
    collection_id,
    document_id,
    generation,
    position,
    list: found[index],
  }));
}

/** Rows that a deletion has locked are skipped: waiting for it, while it waits for another of them, would be a deadlock. */
async function storeLists(
  em: EntityManager,
  { tenantId, embeddingId }: Key,
  listed: readonly object[],
): Promise<void> {
  await em.execute(
    `with given as materialized (
       select v.collection_id, v.document_id, v.generation, v.position, r.list
       from jsonb_to_recordset(?::jsonb)
         as r(collection_id uuid, document_id uuid, generation integer, position integer, list smallint)
       join chunk_vectors v on v.tenant_id = ? and v.embedding_id = ? and v.collection_id = r.collection_id
         and v.document_id = r.document_id and v.generation = r.generation and v.position = r.position
       where v.list = 0 for no key update of v skip locked)
     update chunk_vectors v set list = g.list from given g
     where v.tenant_id = ? and v.embedding_id = ? and v.collection_id = g.collection_id
       and v.document_id = g.document_id and v.generation = g.generation and v.position = g.position`,
    [JSON.stringify(listed), tenantId, embeddingId, tenantId, embeddingId],
  );
}

async function notePartitioned(em: EntityManager, { tenantId, embeddingId }: Key): Promise<void> {
  await em.execute(
    'update embedding_generations set partitioned_at = now() where tenant_id = ? and id = ? and partitioned_at is null',
    [tenantId, embeddingId],
  );
}
