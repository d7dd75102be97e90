import type { EntityManager } from '@mikro-orm/postgresql';
import { isMissing, missingPlaces, type DeletingRun } from './missing-documents.ts';

/** What is known of a connector's documents in the collection before the first of them is deleted. */
export interface Tally {
  known: number;
  /** The source says by itself that they are gone, or they cannot be read any more. */
  said: number;
  /** A listing lacks them, and the source, asked once more, does not have them. */
  absent: number;
  /** A listing lacks them, and the source has them: they stay. */
  there: number;
  /** A listing lacks them, and the source gave no answer: they stay. */
  silent: number;
  /** A listing lacks them, and the source was not asked. */
  unasked: number;
}

/** More deletions than both are held back until a person confirms them. */
const guard = { documents: 20, share: 0.25 };
/** After so many answers the others are expected to be like them. */
const sampleSize = 100;
/** What is expected holds deletions back only if it is so many times what may be deleted. */
const margin = 2;

export async function tallyOf(em: EntityManager, running: DeletingRun): Promise<Tally> {
  const { connector, run } = running;
  const [row] = await em.execute<Tally[]>(
    `select count(*)::int as known,
       count(*) filter (where missing and is_gone)::int as said,
       count(*) filter (where lacked and asked and was_there is false)::int as absent,
       count(*) filter (where lacked and asked and was_there)::int as there,
       count(*) filter (where lacked and asked and was_there is null)::int as silent,
       count(*) filter (where lacked and not asked)::int as unasked
     from (
       select is_gone, was_there, missing, missing and not is_gone as lacked, asked
       from (
         select is_gone, was_there, ${isMissing} as missing, asked_listing is not distinct from ? as asked
         from source_documents where tenant_id = ? and connector_id = ? and document_id is not null) as each
     ) as document`,
    [...missingPlaces(running), run.listing, connector.tenantId, connector.id],
  );
  return row ?? { known: 0, said: 0, absent: 0, there: 0, silent: 0, unasked: 0 };
}

/**
 * Whether what is gone may be deleted. What the source says decides, and not what a listing lacks: `open` until it was
 * asked for enough of that. Where twice as much must be expected to be gone as may be, the rest is not asked for: a
 * source that has lost everything, or shows nothing any more, would be asked for each of its documents in each run.
 */
export function judge({ known, said, absent, there, unasked }: Tally): 'open' | 'pass' | 'hold' {
  const limit = Math.max(guard.documents, known * guard.share);
  const gone = said + absent;
  if (gone > limit) return 'hold';
  if (gone + unasked <= limit) return 'pass';
  const answers = absent + there;
  const expected = gone + (unasked * absent) / Math.max(answers, 1);
  return answers >= sampleSize && expected > margin * limit ? 'hold' : 'open';
}

/** The number of documents that the guard holds back: all that are missing, but for those that the source has. */
export function heldOf({ said, absent, silent, unasked }: Tally): number {
  return said + absent + silent + unasked;
}
