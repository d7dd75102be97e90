import type { InTransaction } from './embed-document.ts';

/** Of one generation. */
interface Sampled {
  tenantId: string;
  embeddingId: string;
}

/** Vectors per transaction: the driver's rows take several times their memory. */
const batchSize = 1_000;

/**
 * Vectors of random texts, by their hashes, as they are stored. Copies of the last text of a batch may be left out.
 * @param size max number of vectors
 */
export async function sampleVectors(
  inTransaction: InTransaction,
  { tenantId, embeddingId }: Sampled,
  size: number,
): Promise<Buffer[]> {
  const sample: Buffer[] = [];
  let after: Buffer | null = null;
  do {
    const rows: { text_hash: Buffer; vector: Buffer }[] = await inTransaction((em) =>
      em.execute(
        `select text_hash, vector from chunk_embeddings
         where tenant_id = ? and embedding_id = ? and ${after === null ? 'true' : 'text_hash > ?'}
         order by text_hash limit ?`,
        [
          tenantId,
          embeddingId,
          ...(after === null ? [] : [after]),
          Math.min(batchSize, size - sample.length),
        ],
      ),
    );
    sample.push(...rows.map(({ vector }) => vector));
    after = rows.at(-1)?.text_hash ?? null;
  } while (after !== null && sample.length < size);
  return sample;
}
