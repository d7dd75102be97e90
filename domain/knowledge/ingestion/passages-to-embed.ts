import type { EntityManager } from '@mikro-orm/postgresql';
import type { StoredPassages } from './store-passages.ts';

export interface PassageToEmbed {
  position: number;
  /** With its headings above it, as a reader sees it. */
  text: string;
}

/** The stored passages of a reading after a position, in order. */
export async function passagesToEmbed(
  em: EntityManager,
  { documentId, generation }: StoredPassages,
  { after, limit }: { after: number; limit: number },
): Promise<PassageToEmbed[]> {
  return em.execute<PassageToEmbed[]>(
    `select position, concat_ws(E'\\n', heading, text) as text from chunks
     where tenant_id = nullif(current_setting('app.tenant_id'), '')::uuid
       and document_id = ? and generation = ? and position > ? order by position limit ?`,
    [documentId, generation, after, limit],
  );
}
