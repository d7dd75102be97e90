import { createHash } from 'node:crypto';
import type { EntityManager } from '@mikro-orm/postgresql';
import { averageUuid } from '#domain/foundation/persistence/average-uuid.ts';
import { withoutIndex } from '#domain/foundation/persistence/without-index.ts';
import { embeddedText } from '#domain/knowledge/ingestion/embedded-text.ts';
import type { StoredPassages } from '#domain/knowledge/ingestion/store-passages.ts';

export interface PassageToEmbed {
  position: number;
  /** With its headings above it, as a reader sees it. */
  text: string;
  /** SHA-256 of the text. */
  textHash: Buffer;
}

/** The passages of a reading that lack a vector of an embedding generation, in order. */
export async function passagesToEmbed(
  em: EntityManager,
  {
    tenantId,
    documentId,
    generation,
    embeddingId,
  }: StoredPassages & { tenantId: string; embeddingId: string },
  { after, limit }: { after: number; limit: number },
): Promise<PassageToEmbed[]> {
  const rows = await em.execute<{ position: number; text: string }[]>(
    `select c.position, ${embeddedText('c')} as text from chunks c
     where c.tenant_id = ${averageUuid} and c.document_id = ${averageUuid} and c.generation = ? and c.position > ?
       and not exists (select from chunk_embeddings e where e.tenant_id = c.tenant_id and ${withoutIndex('e.embedding_id')}
                       and e.document_id = c.document_id and e.generation = c.generation and e.position = c.position)
     order by c.position limit ?`,
    [tenantId, documentId, generation, after, embeddingId, limit],
  );
  return rows.map((row) => ({ ...row, textHash: createHash('sha256').update(row.text).digest() }));
}
