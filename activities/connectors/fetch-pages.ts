import { beginListing } from '#domain/knowledge/synchronisation/begin-listing.ts';
import { failedDocuments } from '#domain/knowledge/synchronisation/failed-documents.ts';
import type { PageEnd } from '#domain/knowledge/synchronisation/page-end.ts';
import { PageStored } from '#domain/knowledge/synchronisation/store-batch.ts';
import { SourceFailure, type SourcePage } from '#domain/knowledge/connectors/source.ts';
import type { SyncRun } from '#domain/knowledge/connectors/sync-run.entity.ts';
import { storablePage, type StorablePage } from '#domain/knowledge/synchronisation/storable-page.ts';
import { findRunning } from '#domain/knowledge/synchronisation/running-run.ts';
import { hasReaders } from '#domain/knowledge/synchronisation/has-readers.ts';
import type { FetchPagesResult, SyncConnectorInput } from '#workflows/sync-connector/messages.ts';
import { extractionTurns, type FetchDependencies, type FetchWork } from './fetch-document.ts';
import { fetchPage } from './fetch-page.ts';
import { notePause, pauseOf, withSource } from './run-steps.ts';

/** A step ends after so much time or so many documents, so that its progress is in the history. */
const slice = { ms: 60_000, documents: 5_000 };
/** A listing with more pages, or with so many in a row that bring nothing new, is taken to be endless. */
const maxPages = 100_000;
const maxIdlePages = 1_000;
const maxRepeatedPages = 5;
/** A page that is listed once more may bring others: so many times its documents, and so many more. */
const otherDocuments = { times: 3, more: 300 };

/** Lists and stores page after page, from where the last step stopped. */
export async function fetchPages(
  deps: FetchDependencies,
  input: SyncConnectorInput,
  signal: AbortSignal,
): Promise<FetchPagesResult> {
  const result = await withSource(deps, input, (open) =>
    fetchSlice({ deps, open, signal, extractions: extractionTurns() }),
  );
  return result === 'ended' ? { state: 'ended', recordsFetched: 0 } : result;
}

async function fetchSlice(work: FetchWork): Promise<FetchPagesResult> {
  const { deps, open, signal } = work;
  const { tenantId, source } = open;
  const endsAt = Date.now() + slice.ms;
  const before = open.run.recordsFetched;
  const repeats = { idle: 0, repeated: 0 };
  let { run } = open;
  /** A source fetches what it has listed before, since it was opened. */
  let hasListed = false;
  /** No document has readers. */
  let hasNone = false;
  try {
    while (!run.isListed) {
      if (Date.now() > endsAt || run.recordsFetched - before >= slice.documents) {
        return { state: 'more', recordsFetched: run.recordsFetched };
      }
      await open.pace(1, signal);
      const cursor = run.position ?? null;
      const listed = await source.list({ cursor, checkpoint: run.cursorFrom ?? null }, signal);
      const page = storablePage(listed);
      hasNone &&= page.lacksReaders === true;
      if (page.lacksReaders === true && !hasNone) {
        hasNone = !(await deps.unitOfWork.inTenant(tenantId, (em) => hasReaders(em, open.connector)));
        if (!hasNone) throw withoutReaders();
      }
      hasListed = true;
      const seen = run.recordsFetched;
      const end = endOf(page, { cursor, pages: run.pages, repeats });
      const cutEnd = cutEndOf(run, page, end);
      const { at } = page;
      if (cursor === null && at !== undefined && page.documents.length > 0) {
        const { id: runId, pages, listing } = run;
        const begun = { runId, pages, listing, at, end };
        if (!(await deps.unitOfWork.inTenant(tenantId, (em) => beginListing(em, begun)))) {
          ({ run } = await deps.unitOfWork.inTenant(tenantId, (em) => findRunning(em, run.id)));
          continue;
        }
      }
      try {
        run = await fetchPage({ ...work, open: { ...open, run } }, page, { end, cutEnd, endsAt });
      } catch (error) {
        if (!(error instanceof PageStored)) {
          throw error;
        }
        ({ run } = await deps.unitOfWork.inTenant(tenantId, (em) => findRunning(em, run.id)));
      }
      repeats.idle = page.documents.length === 0 ? repeats.idle + 1 : 0;
      repeats.repeated = page.documents.length > 0 && run.recordsFetched === seen ? repeats.repeated + 1 : 0;
    }
    if (hasListed && run.listsChanges) {
      run = await repeatFailed({ ...work, open: { ...open, run } }, endsAt);
    }
    return { state: 'listed', recordsFetched: run.recordsFetched };
  } catch (error) {
    const isPassing =
      error instanceof SourceFailure && ['rate_limited', 'source_unreachable'].includes(error.code);
    const current = isPassing
      ? await deps.unitOfWork.inTenant(tenantId, (em) => findRunning(em, run.id))
      : null;
    // Progress begins the count of attempts again.
    if (isPassing && current !== null && current.run.recordsFetched > before) {
      const paused = { tenantId, runId: run.id, host: open.host };
      await deps.unitOfWork.inTenant(tenantId, (em) => notePause(em, paused, error));
      return { state: 'more', recordsFetched: current.run.recordsFetched, pauseMs: pauseOf(error) };
    }
    throw error;
  }
}

/** Fetches once more what failed before, so that the checkpoint need not wait for it. What is left is of the next run. */
async function repeatFailed(work: FetchWork, endsAt: number): Promise<SyncRun> {
  const { deps, open } = work;
  const documents = await deps.unitOfWork.inTenant(open.tenantId, (em) => failedDocuments(em, open));
  if (documents.length === 0) {
    return open.run;
  }
  const page = { documents, gone: [], next: null, checkpoint: null, total: null, scope: 'changes' } as const;
  try {
    return await fetchPage(work, page, { end: null, cutEnd: null, endsAt });
  } catch (error) {
    if (!(error instanceof PageStored)) {
      throw error;
    }
    return (await deps.unitOfWork.inTenant(open.tenantId, (em) => findRunning(em, open.run.id))).run;
  }
}

/**
 * Each step lists its page once more, and stores some of it. A page that brings other documents each time would have
 * steps without an end: it ends with this one, and nothing that the listing lacks counts as deleted.
 */
function cutEndOf({ pageRecords }: SyncRun, { documents }: SourcePage, end: PageEnd): PageEnd | null {
  const isOther = pageRecords > otherDocuments.times * documents.length + otherDocuments.more;
  return isOther ? { ...end, checkpoint: null, isTruncated: true } : null;
}

function withoutReaders(): SourceFailure {
  return new SourceFailure(
    'source_invalid',
    'Documents have readers, and the source no longer says who may read them.',
  );
}

function endOf(
  page: StorablePage,
  at: { cursor: string | null; pages: number; repeats: { idle: number; repeated: number } },
): PageEnd {
  const isEndless =
    page.next !== null &&
    (page.next === at.cursor ||
      at.pages + 1 >= maxPages ||
      at.repeats.idle >= maxIdlePages ||
      at.repeats.repeated >= maxRepeatedPages);
  const listsChanges = page.scope === 'changes';
  const supersedes = listsChanges || at.cursor === null;
  const listed = new Set(supersedes ? page.documents.map(({ ref }) => ref) : []);
  return {
    supersedes,
    gone: page.gone.filter((ref) => !listed.has(ref)),
    goneWithParts: page.goneWithParts === true,
    next: isEndless ? null : page.next,
    checkpoint: isEndless ? null : page.checkpoint,
    total: page.total,
    listsChanges,
    isTruncated: isEndless || page.truncated === true || (!listsChanges && page.failures.length > 0),
    failures: page.failures,
  };
}
