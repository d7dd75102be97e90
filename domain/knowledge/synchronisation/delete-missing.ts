import type { EntityManager } from '@mikro-orm/postgresql';
import { forgetDocuments } from './forget-documents.ts';
import { lockRunning, type RunningRun } from './running-run.ts';
import type { SyncRun } from '#domain/knowledge/connectors/sync-run.entity.ts';

/** A document that the source says to be deleted, or that a whole listing lacks. */
export interface MissingDocument {
  id: string;
  ref: string;
  documentId: string | null;
  /** The source itself says so: it need not be asked once more. */
  isGone: boolean;
}

/** More deletions than both are held back until a person confirms them. */
const guard = { documents: 20, share: 0.25 };

/** Only a listing that was complete shows what is missing. */
const missing = `tenant_id = ? and connector_id = ? and listing < ? and (is_gone or ?)`;

function placesOf({ connector, run }: RunningRun): unknown[] {
  const isWhole = run.isListed && !run.isTruncated && !run.listsChanges;
  return [connector.tenantId, connector.id, run.listing, isWhole];
}

/** The missing documents behind `after`, in the order of their ids. */
export function missingDocuments(
  em: EntityManager,
  running: RunningRun,
  { after, limit }: { after: string; limit: number },
): Promise<MissingDocument[]> {
  return em.execute<MissingDocument[]>(
    `select id, ref, document_id as "documentId", is_gone as "isGone" from source_documents
     where ${missing} and id > ? order by id limit ?`,
    [...placesOf(running), after, limit],
  );
}

/** The number of deletions that the guard holds back; 0: they may be applied. */
export async function heldDeletions(em: EntityManager, running: RunningRun): Promise<number> {
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

/**
 * Deletes documents that are gone at the source: no later search finds them. @throws RunEnded
 */
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
  await em.execute(
    `delete from source_documents where tenant_id = ? and id in (select jsonb_array_elements_text(?::jsonb)::uuid)`,
    [tenantId, JSON.stringify(documents.map(({ id }) => id))],
  );
  run.updatedAt = new Date();
  await em.flush();
  return run;
}
