import type { EntityManager } from '@mikro-orm/postgresql';
import { forgetDocuments } from './forget-documents.ts';
import { noteErrors, shownRef } from './note-errors.ts';
import { lockRunning, type RunningRun } from './running-run.ts';
import type { SyncRun } from '#domain/knowledge/connectors/sync-run.entity.ts';
import type { SyncError } from '#domain/knowledge/connectors/sync-status.ts';

/** A document that the source says to be deleted, that a whole listing lacks, or that cannot be read any more. */
export interface MissingDocument {
  id: string;
  ref: string;
  documentId: string | null;
  /** The source itself says so: it need not be asked once more. */
  isGone: boolean;
  /** What it has become is skipped: the document goes, and the reason stays. */
  isUnreadable: boolean;
}

/** More deletions than both are held back until a person confirms them. */
const guard = { documents: 20, share: 0.25 };

/** Only a listing that was complete shows what is missing. */
const missing = `tenant_id = ? and connector_id = ? and (is_gone or (listing < ? and ?))`;

/** A running run of a connector whose provider lists everything that exists, or does not. */
export interface DeletingRun extends RunningRun {
  listsDeletions: boolean;
}

function placesOf({ connector, run, listsDeletions }: DeletingRun): unknown[] {
  const isWhole = listsDeletions && run.isListed && !run.isTruncated && !run.listsChanges;
  return [connector.tenantId, connector.id, run.listing, isWhole];
}

/** The missing documents behind `after`, in the order of their ids. */
export function missingDocuments(
  em: EntityManager,
  running: DeletingRun,
  { after, limit }: { after: string; limit: number },
): Promise<MissingDocument[]> {
  return em.execute<MissingDocument[]>(
    `select id, ref, document_id as "documentId", is_gone as "isGone",
       state = 'skipped' and document_id is not null as "isUnreadable"
     from source_documents where ${missing} and id > ? order by id limit ?`,
    [...placesOf(running), after, limit],
  );
}

/** The number of deletions that the guard holds back; 0: they may be applied. */
export async function heldDeletions(em: EntityManager, running: DeletingRun): Promise<number> {
  if (running.run.confirmDeletions) {
    return 0;
  }
  const [row] = await em.execute<{ missing: number; known: number }[]>(
    `select count(*) filter (where ${missing})::int as missing, count(*)::int as known
     from source_documents where tenant_id = ? and connector_id = ? and document_id is not null`,
    [...placesOf(running), running.connector.tenantId, running.connector.id],
  );
  const { missing: count = 0, known = 0 } = row ?? {};
  return count > Math.max(guard.documents, known * guard.share) ? count : 0;
}

/** Deletes documents that are gone at the source, or cannot be read there: no later search finds them. @throws RunEnded */
export async function deleteMissing(
  em: EntityManager,
  runId: string,
  documents: readonly MissingDocument[],
): Promise<SyncRun> {
  const { connector, run } = await lockRunning(em, runId);
  const { tenantId } = connector;
  run.deleted += await forgetDocuments(
    em,
    tenantId,
    documents.flatMap(({ documentId }) => documentId ?? []),
  );
  const idsOf = (isUnreadable: boolean) =>
    JSON.stringify(documents.filter((each) => each.isUnreadable === isUnreadable).map(({ id }) => id));
  const given = `tenant_id = ? and id in (select jsonb_array_elements_text(?::jsonb)::uuid)`;
  await em.execute(`delete from source_documents where ${given}`, [tenantId, idsOf(false)]);
  await em.execute(`update source_documents set is_gone = false where ${given}`, [tenantId, idsOf(true)]);
  run.updatedAt = new Date();
  await em.flush();
  return run;
}

/**
 * Notes documents that a whole listing lacks and that the source could not be asked for: they stay, and the next run
 * lists everything again. Repeating it changes nothing. @throws RunEnded
 */
export async function noteUnasked(
  em: EntityManager,
  runId: string,
  unasked: readonly Pick<SyncError, 'ref' | 'code'>[],
): Promise<void> {
  const { run } = await lockRunning(em, runId);
  run.cursorTo = null;
  const isNoted = new Set(run.errors.map(({ ref }) => ref));
  const message = 'The listing lacks it, and the source could not be asked for it.';
  const fresh = unasked.filter(({ ref }) => !isNoted.has(shownRef(ref)));
  noteErrors(
    run,
    fresh.map((each) => ({ ...each, message })),
  );
  await em.flush();
}
