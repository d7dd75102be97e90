import { SourceFailure, type SourcePage } from '#domain/knowledge/connectors/source.ts';
import type { SyncRun } from '#domain/knowledge/connectors/sync-run.entity.ts';
import { knownDocuments } from '#domain/knowledge/synchronisation/known-documents.ts';
import { storeBatch, type Outcome, type PageEnd } from '#domain/knowledge/synchronisation/store-batch.ts';
import { fetchDocument, isFetched, type FetchWork } from './fetch-document.ts';

/** Documents that are fetched and extracted at the same time. */
const parallel = 4;
/** A batch is stored when it has so many documents or bytes. */
const batch = { documents: 100, bytes: 16_777_216 };
/** Documents for which requests are taken from the shared bucket at once; a multiple of `parallel`. */
const pacedAtOnce = 40;
/** After so many documents in a row that could not be fetched, the source counts as unreachable. */
const maxFailures = 5;

/**
 * Fetches what is new or changed of a page, and stores it batch by batch; a document that was stored in this listing
 * already is not fetched again.
 */
export async function fetchPage(work: FetchWork, page: SourcePage, end: PageEnd): Promise<SyncRun> {
  const { deps, open, signal } = work;
  const { tenantId, connector, run } = open;
  const listed = [...new Map(page.documents.map((each) => [each.ref, each])).values()];
  const refs = listed.map(({ ref }) => ref);
  const known = await deps.unitOfWork.inTenant(tenantId, (em) => knownDocuments(em, connector, refs));
  const fresh = listed.filter(({ ref }) => known.get(ref)?.listing !== run.listing);
  const outcomes: Outcome[] = [];
  const unsure: Outcome[] = [];
  let bytes = 0;
  const flush = (last: PageEnd | null) =>
    deps.unitOfWork.inTenant(tenantId, (em) =>
      storeBatch(em, {
        runId: run.id,
        pages: run.pages,
        outcomes: outcomes.splice(0),
        end: last,
      }),
    );
  for (let from = 0; from < fresh.length; from += parallel) {
    signal.throwIfAborted();
    if (from % pacedAtOnce === 0) {
      const next = fresh.slice(from, from + pacedAtOnce);
      await open.pace(
        next.filter((each) => isFetched(work, each, known.get(each.ref) ?? null)).length,
        signal,
      );
    }
    const group = fresh.slice(from, from + parallel);
    const results = await Promise.allSettled(
      group.map((each) => fetchDocument(work, each, known.get(each.ref) ?? null)),
    );
    for (const result of results) {
      if (result.status === 'fulfilled') {
        const outcome = result.value;
        (outcome.is === 'failed' ? unsure : outcomes).push(outcome);
        bytes += outcome.is === 'stored' ? outcome.read.content.byteLength : 0;
        if (outcome.is !== 'failed') {
          outcomes.push(...unsure.splice(0));
        }
      }
    }
    const stopped = results.find((result) => result.status === 'rejected');
    if (stopped !== undefined || unsure.length >= maxFailures) {
      if (outcomes.length > 0) {
        await flush(null);
      }
      throw stopped === undefined
        ? new SourceFailure(
            'source_unreachable',
            'The source answers its listing, and no request for a document.',
          )
        : stopped.reason;
    }
    if (outcomes.length >= batch.documents || bytes >= batch.bytes) {
      await flush(null);
      bytes = 0;
    }
  }
  outcomes.push(...unsure);
  return flush(end);
}
