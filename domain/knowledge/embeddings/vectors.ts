import type { EntityManager } from '@mikro-orm/postgresql';
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
    `with given as materialized (
       select r.*, c.collection_id
       from jsonb_to_recordset(?::jsonb) as r(position integer, hash text, vector text, bits text, list smallint)
       join chunks c on c.tenant_id = ? and c.document_id = ? and c.generation = ? and c.position = r.position
       join documents d on d.tenant_id = c.tenant_id and d.id = c.document_id and d.generation = c.generation
       for share of d),
     stored as (
       insert into chunk_embeddings (tenant_id, embedding_id, document_id, generation, position, text_hash, vector)
       select ?, ?, ?, ?, position, decode(hash, 'hex'), decode(vector, 'hex') from given
       on conflict do nothing)
     insert into chunk_vectors (tenant_id, embedding_id, collection_id, document_id, generation, position, bits, list)
     select ?, ?, collection_id, ?, ?, position, bits::bit varying, list from given
     on conflict do nothing`,
    [JSON.stringify(rows), ...passagesOf(target), ...keysOf(target), ...keysOf(target)],
  );
}

/**
 * Gives passages the vectors that equal texts of the space have already. Of a replaced passage only half of them is left.
 * @returns the positions that got one
 */
export async function reuseVectors(
  em: EntityManager,
  target: Target,
  passages: readonly { position: number; textHash: Buffer }[],
): Promise<Set<number>> {
  const rows = passages.map(({ position, textHash }) => ({ position, hash: textHash.toString('hex') }));
  const reused = await em.execute<{ position: number }[]>(
    `with given as materialized (
       select r.position, c.collection_id, known.text_hash, known.vector, known.bits, known.list
       from jsonb_to_recordset(?::jsonb) as r(position integer, hash text)
       join chunks c on c.tenant_id = ? and c.document_id = ? and c.generation = ? and c.position = r.position
       join documents d on d.tenant_id = c.tenant_id and d.id = c.document_id and d.generation = c.generation
       cross join lateral (
         select e.text_hash, e.vector, v.bits, v.list from chunk_embeddings e
         join chunk_vectors v on v.tenant_id = e.tenant_id and v.embedding_id = e.embedding_id
           and v.document_id = e.document_id and v.generation = e.generation and v.position = e.position
         where e.tenant_id = ? and e.embedding_id = ? and e.text_hash = decode(r.hash, 'hex') limit 1) known
       for share of d),
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
      JSON.stringify(rows),
      ...passagesOf(target),
      target.tenantId,
      target.embeddingId,
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
