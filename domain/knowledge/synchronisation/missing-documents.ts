import type { EntityManager } from '@mikro-orm/postgresql';
import type { RunningRun } from './running-run.ts';

/** A document that the source says to be deleted, that a whole listing lacks, or that cannot be read any more. */
export interface MissingDocument {
  id: string;
  ref: string;
  documentId: string | null;
  /** The source has said so, by itself or when it was asked in this run. */
  isGone: boolean;
  /** What it has become is skipped: the document goes, and the reason stays. */
  isUnreadable: boolean;
}

/** A running run of a connector whose provider lists everything that exists, or does not. */
export interface DeletingRun extends RunningRun {
  listsDeletions: boolean;
}

/** Only a listing that was complete shows what is missing. With `missingPlaces`. */
export const isMissing = '(is_gone or (listing < ? and ?))';

export function missingPlaces({ run, listsDeletions }: DeletingRun): unknown[] {
  const isWhole = listsDeletions && run.isListed && !run.isTruncated && !run.listsChanges;
  return [run.listing, isWhole];
}

const columns = `id, ref, document_id as "documentId",
  is_gone or (asked_listing is not distinct from ? and was_there is false) as "isGone",
  state = 'skipped' and document_id is not null as "isUnreadable"`;

/**
 * The missing documents behind `after` in the order of their ids, without those that the source did not say to be gone.
 */
export function missingDocuments(
  em: EntityManager,
  running: DeletingRun,
  { after, limit }: { after: string; limit: number },
): Promise<MissingDocument[]> {
  const { connector, run } = running;
  return em.execute<MissingDocument[]>(
    `select ${columns} from source_documents
     where tenant_id = ? and connector_id = ? and ${isMissing} and id > ?
       and (is_gone or asked_listing is distinct from ? or was_there is false)
     order by id limit ?`,
    [run.listing, connector.tenantId, connector.id, ...missingPlaces(running), after, run.listing, limit],
  );
}

/**
 * Missing documents of the collection for which the source was not asked in this run. They come from everywhere, as a
 * sample does: ids are in the order in which documents came, and what is next to each other there often has one fate.
 */
export function unaskedDocuments(
  em: EntityManager,
  running: DeletingRun,
  limit: number,
): Promise<MissingDocument[]> {
  const { connector, run } = running;
  return em.execute<MissingDocument[]>(
    `select ${columns} from source_documents
     where tenant_id = ? and connector_id = ? and ${isMissing} and not is_gone and document_id is not null
       and asked_listing is distinct from ?
     order by md5(id::text) limit ?`,
    [run.listing, connector.tenantId, connector.id, ...missingPlaces(running), run.listing, limit],
  );
}
