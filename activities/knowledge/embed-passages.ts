import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import type { Embedding } from '#domain/knowledge/ingestion/embedder.ts';
import { passagesToEmbed } from '#domain/knowledge/ingestion/passages-to-embed.ts';
import type { StoredPassages } from '#domain/knowledge/ingestion/store-passages.ts';

/** Passages per call of the embedder, and per transaction that stores vectors. */
const batchSize = 64;

interface EmbeddingRun {
  unitOfWork: UnitOfWork;
  embedding: Embedding;
  tenantId: string;
  passages: StoredPassages;
  signal: AbortSignal;
}

/** Embeds the stored passages of a reading, batch by batch. No transaction is open while the embedder runs. */
export async function embedPassages(run: EmbeddingRun): Promise<void> {
  const { unitOfWork, embedding, tenantId, passages, signal } = run;
  const { embedder } = embedding;
  for (let after = -1; embedder.dims > 0;) {
    const behind = { after, limit: batchSize };
    const batch = await unitOfWork.inTenant(tenantId, (em) => passagesToEmbed(em, passages, behind));
    const last = batch.at(-1);
    if (last === undefined) {
      return;
    }
    signal.throwIfAborted();
    const embedded = await embedder.embedPassages(
      batch.map(({ text }) => text),
      signal,
    );
    const vectors = batch.map(({ position }, index) => ({ position, vector: vectorAt(embedded, index) }));
    await unitOfWork.inTenant(tenantId, (em) =>
      embedding.store(em, { ...passages, embedderId: embedder.id, vectors }),
    );
    after = last.position;
  }
}

function vectorAt(embedded: readonly Float32Array[], index: number): Float32Array {
  const vector = embedded[index];
  if (vector === undefined) {
    throw new Error('The embedder answered with fewer vectors than it was given passages.');
  }
  return vector;
}
