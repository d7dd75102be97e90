import type { EntityManager } from '@mikro-orm/postgresql';
import { averageUuid } from '#domain/foundation/persistence/average-uuid.ts';
import { withoutIndex } from '#domain/foundation/persistence/without-index.ts';
import type { StoredPassages } from '#domain/knowledge/ingestion/store-passages.ts';
import { quantise, signBits } from './quantise.ts';
import type { VectorLists } from './vector-lists.ts';

export interface EmbeddedPassage {
  position: number;
  /** SHA-256 of the embedded text. */
  textHash: Buffer;
  vector: Float32Array;
}

interface Target extends StoredPassages {
  tenantId: string;
  /** The embedding generation. */
  embeddingId: string;
}

/** The document, locked, while the passages are its current ones. */
const currentReading = `reading as materialized (
       select d.id, d.generation from documents d where d.tenant_id = ? and d.id = ? and d.generation = ? for share)`;
/** A passage `c` of it, `d`. */
const isOfReading = `c.tenant_id = ${averageUuid} and c.document_id = d.id and c.generation = d.generation`;

/**
 * Stores vectors of passages that are still their document's current ones: the lock makes a replacement wait, and a
 * replaced passage gets none. A passage that has a vector keeps it, so that a batch may be repeated.
 */
export async function storeVectors(
  em: EntityManager,
  target: Target & { mean: Float32Array; lists: VectorLists | null },
  embedded: readonly EmbeddedPassage[],
): Promise<void> {
  const rows = embedded.map(({ position, textHash, vector }) => ({
    position,
    hash: textHash.toString('hex'),
    vector: quantise(vector, target.mean).toString('hex'),
    bits: signBits(vector, target.mean),
    list: target.lists?.listOf(vector) ?? 0,
  }));
  await em.execute(
    `with ${currentReading},
     given as materialized (
       select r.*, c.collection_id
       from reading d
       cross join jsonb_to_recordset(?::jsonb) as r(position integer, hash text, vector text, bits text, list smallint)
       join chunks c on ${isOfReading} and c.position = r.position),
     stored as (
       insert into chunk_embeddings (tenant_id, embedding_id, document_id, generation, position, text_hash, vector)
       select ?, ?, ?, ?, position, decode(hash, 'hex'), decode(vector, 'hex') from given
       on conflict do nothing)
     insert into chunk_vectors (tenant_id, embedding_id, collection_id, document_id, generation, position, bits, list)
     select ?, ?, collection_id, ?, ?, position, bits::bit varying, list from given
     on conflict do nothing`,
    [...passagesOf(target), JSON.stringify(rows), target.tenantId, ...keysOf(target), ...keysOf(target)],
  );
}

/**
 * Gives passages the vectors that equal texts of the space have already. Of a replaced passage only half of them is left.
 * They are found by a range of one hash, in its order: for an equal value that it expects to be frequent PostgreSQL reads
 * the table from its beginning.
 * @returns the positions that got one
 */
export async function reuseVectors(
  em: EntityManager,
  target: Target,
  passages: readonly { position: number; textHash: Buffer }[],
): Promise<Set<number>> {
  const rows = passages.map(({ position, textHash }) => ({ position, hash: textHash.toString('hex') }));
  const reused = await em.execute<{ position: number }[]>(
    `with ${currentReading},
     asked as materialized (
       select position, decode(hash, 'hex') as text_hash from jsonb_to_recordset(?::jsonb) as r(position integer, hash text)),
     known as materialized (
       select found.* from (select distinct text_hash from asked) a
       cross join lateral (
         select e.text_hash, e.vector, v.bits, v.list from chunk_embeddings e
         join chunk_vectors v on v.tenant_id = e.tenant_id and ${withoutIndex('v.embedding_id')}
           and v.document_id = e.document_id and v.generation = e.generation and v.position = e.position
         where e.tenant_id = ${averageUuid} and e.embedding_id = ${averageUuid}
           and e.text_hash between a.text_hash and a.text_hash
         order by e.text_hash limit 1) found),
     given as materialized (
       select r.position, c.collection_id, known.text_hash, known.vector, known.bits, known.list
       from reading d
       cross join asked r
       join known on known.text_hash = r.text_hash
       join chunks c on ${isOfReading} and c.position = r.position),
     stored as (
       insert into chunk_embeddings (tenant_id, embedding_id, document_id, generation, position, text_hash, vector)
       select ?, ?, ?, ?, position, text_hash, vector from given
       on conflict do nothing),
     scanned as (
       insert into chunk_vectors (tenant_id, embedding_id, collection_id, document_id, generation, position, bits, list)
       select ?, ?, collection_id, ?, ?, position, bits, list from given
       on conflict do nothing)
     select position from given`,
    [
      ...passagesOf(target),
      JSON.stringify(rows),
      target.embeddingId,
      target.tenantId,
      target.embeddingId,
      target.tenantId,
      ...keysOf(target),
      ...keysOf(target),
    ],
  );
  return new Set(reused.map(({ position }) => position));
}

function passagesOf({ tenantId, documentId, generation }: Target): [string, string, number] {
  return [tenantId, documentId, generation];
}

function keysOf({ tenantId, embeddingId, documentId, generation }: Target): [string, string, string, number] {
  return [tenantId, embeddingId, documentId, generation];
}
