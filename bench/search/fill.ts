import type { Client } from 'pg';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { quantise, signBits } from '#domain/knowledge/embeddings/quantise.ts';
import type { SpaceFixture } from '#test/support/knowledge-world.ts';
import { passageAt, type Corpus } from './corpus.ts';

/** Passages of a document. */
const perDocument = 20;
/** Passages of a statement. */
const batchSize = 2_000;

export interface Filling {
  space: SpaceFixture;
  collectionId: string;
  embeddingId: string;
  mean: Float32Array;
  total: number;
}

/**
 * Stores passages with their vectors without the checks and triggers of an upload: a million of them take minutes and
 * not days. @returns the vectors, one after the other, and where each passage lies
 */
export async function fill(admin: Client, corpus: Corpus, filling: Filling) {
  const { space, collectionId, embeddingId, mean, total } = filling;
  const dims = mean.length;
  const vectors = new Float32Array(total * dims);
  const documents: string[] = [];
  const { rows } = await admin.query<{ indexdef: string }>(
    `select indexdef from pg_indexes where indexname = 'chunks_lexeme_keys'`,
  );
  await admin.query(`set session_replication_role = replica; set maintenance_work_mem = '1GB';
    drop index chunks_lexeme_keys`);
  for (let from = 0; from < total; from += batchSize) {
    const made = Array.from({ length: Math.min(batchSize, total - from) }, (_, at) => {
      const n = from + at;
      const { text, vector } = passageAt(corpus, n, total);
      vectors.set(vector, n * dims);
      if (n % perDocument === 0) documents.push(newId());
      const [document, position] = [documents.at(-1), n % perDocument];
      return {
        document,
        position,
        text,
        bits: signBits(vector, mean),
        vector: quantise(vector, mean).toString('hex'),
      };
    });
    await admin.query(
      `with given as materialized (
         select * from jsonb_to_recordset($1::jsonb) as r(document uuid, position integer, text text, bits text, vector text)),
       documents as (
         insert into documents (tenant_id, id, collection_id, filename, media_type, status, content_hash, byte_size,
           chunk_count, created_by, generation, embedded_count)
         select $2, document, $3, 'a.txt', 'text/plain', 'ready', '', 1, count(*), $5, 1, count(*) from given group by document),
       passages as (
         insert into chunks (tenant_id, document_id, generation, position, collection_id, text, start_offset, end_offset, config)
         select $2, document, 1, position, $3, text, 0, 1, 'english' from given),
       stored as (
         insert into chunk_embeddings (tenant_id, embedding_id, document_id, generation, position, text_hash, vector)
         select $2, $4, document, 1, position, sha256(convert_to(text, 'UTF8')), decode(vector, 'hex') from given)
       insert into chunk_vectors (tenant_id, embedding_id, collection_id, document_id, generation, position, bits)
       select $2, $4, $3, document, 1, position, bits::bit varying from given`,
      [JSON.stringify(made), space.tenantId, collectionId, embeddingId, space.principalId],
    );
  }
  await admin.query(`${rows[0]?.indexdef}; set session_replication_role = origin`);
  await admin.query('update collections set chunk_count = $2 where id = $1', [collectionId, total]);
  await admin.query('vacuum analyze');
  return {
    vectors,
    numberOf: new Map(documents.map((id, n) => [id, n * perDocument])),
  };
}
