import type { EntityManager } from '@mikro-orm/postgresql';
import { sourceReading } from '#domain/knowledge/collections/source-reading.ts';
import { FoldedPassages } from './fold-passages.ts';
import { fuseHits, type Fusion } from './fuse-hits.ts';
import type { Searched } from './knowledge-query.ts';
import type { Passage } from './passage.ts';
import { readPassages } from './read-passages.ts';
import { candidates } from './search-sides.ts';

/** Hits per passage of the answer that are read at first: some are joined, and copies are left out. */
const foldedFrom = 2;

/**
 * Reads further candidates only where those read before leave places of the answer free, such as copies of one text. What
 * may be read is asked again: readers may have changed since the searches, while this transaction waited for its turn.
 */
export async function bestPassages(
  em: EntityManager,
  { collections, query: { alpha, limit }, principalId }: Searched,
  hits: Pick<Fusion, 'keyword' | 'vector'>,
): Promise<Passage[]> {
  const fused = fuseHits({ ...hits, alpha, limit: 2 * candidates });
  const reading = await sourceReading(em, collections, principalId);
  const folded = new FoldedPassages(limit);
  let from = 0;
  for (let count = foldedFrom * limit; from < fused.length && !folded.isFull; count *= 2) {
    for (const passage of await readPassages(em, fused.slice(from, from + count), reading)) {
      folded.add(passage);
    }
    from += count;
  }
  return folded.toPassages();
}
