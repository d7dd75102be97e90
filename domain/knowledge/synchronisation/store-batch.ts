import type { EntityManager } from '@mikro-orm/postgresql';
import { averageUuid } from '#domain/foundation/persistence/average-uuid.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import type { Connector } from '#domain/knowledge/connectors/connector.entity.ts';
import { markGone } from './mark-gone.ts';
import { markSeen, saysNothingNew } from './mark-seen.ts';
import { expectWithin } from '#domain/knowledge/connectors/expect-within.ts';
import { noteErrors } from './note-errors.ts';
import type { Outcome } from './outcome.ts';
import type { PageEnd } from './page-end.ts';
import { lockTaken, takeRun, type RunningRun } from './running-run.ts';
import { storeDocuments } from './store-documents.ts';
import { updateListed } from './update-listed.ts';
import type { SyncRun } from '#domain/knowledge/connectors/sync-run.entity.ts';
import type { SyncError } from '#domain/knowledge/connectors/sync-status.ts';

export interface Batch {
  runId: string;
  /** Pages stored before this one; another number means that another attempt has stored it. */
  pages: number;
  /** Of the run when the page was listed; another number means that the listing has begun once more since. */
  listing: number;
  outcomes: readonly Outcome[];
  /** Null: further batches of the page follow. */
  end: PageEnd | null;
}

/** The page was stored by another attempt of the same step, or is of a listing that was given up. */
export class PageStored extends Error {
  constructor() {
    super('The page has been stored.');
    this.name = 'PageStored';
  }
}

/** Without a batch for so long, the run's actor is taken to be lost. */
const silenceSeconds = 900;

/**
 * Stores documents, the marks that they were seen, and with the last batch of a page the place of the next one, in one
 * transaction. @throws RunEnded, PageStored
 */
export async function storeBatch(em: EntityManager, batch: Batch): Promise<SyncRun> {
  const { connector, run } = await takeRun(em, batch.runId);
  if (run.pages !== batch.pages || run.listing !== batch.listing) {
    throw new PageStored();
  }
  const seen = batch.outcomes.filter(saysNothingNew);
  const others = batch.outcomes.filter((outcome) => !saysNothingNew(outcome));
  const marked = await markSeen(em, { connector, run }, seen);
  const outcomes = await notStored(em, { connector, run }, others);
  const by = <Is extends Outcome['is']>(is: Is) =>
    outcomes.filter((outcome): outcome is Extract<Outcome, { is: Is }> => outcome.is === is);
  const [stored, skipped, failed, unchanged] = [by('stored'), by('skipped'), by('failed'), by('unchanged')];
  const documentIds = await storeDocuments(em, connector, stored);
  await updateListed(em, connector, [...unchanged, ...failed, ...skipped]);
  await lockTaken(em, { connector, run });
  await saveRows(em, { connector, run }, outcomes, documentIds);
  run.recordsFetched += marked + outcomes.length;
  // Changes may bring a document more than once.
  run.pageRecords += marked + outcomes.filter(({ known }) => known?.listing !== run.listing).length;
  run.added += stored.filter(({ known }) => known?.documentId == null).length;
  run.updated += stored.filter(({ known }) => known?.documentId != null).length;
  run.unchanged += marked + unchanged.length;
  run.skipped += skipped.length;
  run.failed += failed.length;
  run.bytes += stored.reduce((sum, { read }) => sum + read.content.byteLength, 0);
  noteErrors(run, [...failed, ...skipped].map(errorOf));
  run.updatedAt = new Date();
  if (batch.end !== null) {
    await endPage(em, connector, run, batch.end);
  }
  await em.flush();
  await expectWithin(em, connector, silenceSeconds);
  return run;
}

/** Without what another attempt of the same step has stored since this one has read what is known. */
async function notStored(
  em: EntityManager,
  { connector, run }: RunningRun,
  outcomes: readonly Outcome[],
): Promise<Outcome[]> {
  if (outcomes.length === 0) {
    return [];
  }
  const refs = JSON.stringify(outcomes.map(({ listed }) => listed.ref));
  const stored = await em.execute<{ ref: string; documentId: string | null }[]>(
    `select ref, document_id as "documentId" from source_documents where tenant_id = ${averageUuid} and connector_id = ${averageUuid} and listing = ?
       and ref in (select jsonb_array_elements_text(?::jsonb))`,
    [connector.tenantId, connector.id, run.listing, refs],
  );
  const documents = new Map(stored.map(({ ref, documentId }) => [ref, documentId]));
  return outcomes.filter(({ listed, known }) => {
    const documentId = documents.get(listed.ref);
    // What this listing has brought before, the page brings once more, unless another attempt has stored it since.
    return documentId === undefined || (known?.listing === run.listing && known.documentId === documentId);
  });
}

function errorOf(outcome: Extract<Outcome, { is: 'failed' | 'skipped' }>): SyncError {
  const { listed, code } = outcome;
  const message = outcome.is === 'failed' ? outcome.message : 'The document is left out.';
  return { ref: listed.ref, code, message };
}

async function saveRows(
  em: EntityManager,
  { connector: { tenantId, id: connectorId }, run: { listing } }: RunningRun,
  outcomes: readonly Outcome[],
  documentIds: ReadonlyMap<string, string>,
): Promise<void> {
  if (outcomes.length === 0) {
    return;
  }
  const rows = outcomes.map((outcome) => {
    const { listed, known } = outcome;
    const documentId = documentIds.get(listed.ref) ?? known?.documentId ?? null;
    const state = outcome.is === 'unchanged' ? outcome.known.state : outcome.is;
    return {
      id: known?.id ?? newId(),
      ref: listed.ref,
      document_id: documentId,
      name: listed.name,
      url: listed.url,
      version: outcome.is === 'failed' ? null : outcome.version,
      content_hash: outcome.is === 'stored' ? outcome.read.contentHash : (known?.contentHash ?? null),
      byte_size: outcome.is === 'stored' ? outcome.read.content.byteLength : listed.byteSize,
      state: outcome.is === 'unchanged' && documentId !== null ? 'stored' : state,
      error_code: 'code' in outcome ? outcome.code : null,
      // Readers are stored with a document: without them everybody would read what was never stored before.
      can_repeat: outcome.is === 'failed' && (documentId !== null || listed.readers === undefined),
      // The document leaves the collection with the deletions, which the guard may hold back.
      is_gone: outcome.is === 'skipped' && documentId !== null,
    };
  });
  await em.execute(
    `insert into source_documents as s
       (tenant_id, id, connector_id, ref, document_id, name, url, version, content_hash, byte_size, state, error_code, is_gone, listing,
        failures, can_repeat)
     select ?, r.id, ?, r.ref, r.document_id, r.name, r.url, r.version, r.content_hash, r.byte_size, r.state, r.error_code, r.is_gone, ?,
       case r.state when 'failed' then 1 else 0 end, r.can_repeat
     from jsonb_to_recordset(?::jsonb) as r(id uuid, ref text, document_id uuid, name text, url text, version text,
       content_hash text, byte_size bigint, state text, error_code text, is_gone boolean, can_repeat boolean)
     on conflict (tenant_id, connector_id, ref) do update set
       document_id = excluded.document_id, name = excluded.name, url = excluded.url, version = excluded.version,
       content_hash = excluded.content_hash, byte_size = coalesce(excluded.byte_size, s.byte_size),
       state = excluded.state, error_code = case when excluded.state = s.state and excluded.error_code is null then s.error_code else excluded.error_code end,
       failures = case excluded.state when 'failed' then least(s.failures + 1, 100) else 0 end,
       can_repeat = excluded.can_repeat, listing = excluded.listing, is_gone = excluded.is_gone, updated_at = now()`,
    [tenantId, connectorId, listing, JSON.stringify(rows)],
  );
}

async function endPage(em: EntityManager, connector: Connector, run: SyncRun, end: PageEnd): Promise<void> {
  await markGone(em, { connector, run }, end);
  run.failed += end.failures.length;
  noteErrors(run, end.failures);
  run.pages += 1;
  run.pageRecords = 0;
  run.position = end.next;
  run.isListed = end.next === null;
  run.isTruncated ||= end.isTruncated;
  run.listsChanges = end.listsChanges;
  run.total = end.total ?? run.total ?? null;
  run.cursorTo = end.checkpoint ?? run.cursorTo ?? null;
}
