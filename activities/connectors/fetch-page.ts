import { createHash } from 'node:crypto';
import { declaredType } from '#domain/knowledge/collections/readable-type.ts';
import { knownDocuments, type KnownDocument } from '#domain/knowledge/connectors/known-documents.ts';
import { storeBatch, type Outcome, type PageEnd } from '#domain/knowledge/connectors/store-batch.ts';
import {
  SourceFailure,
  type Fetched,
  type ListedDocument,
  type SourcePage,
} from '#domain/knowledge/connectors/source.ts';
import type { SyncRun } from '#domain/knowledge/connectors/sync-run.entity.ts';
import { ExtractionFailure, ExtractorBusy } from '#domain/knowledge/ingestion/document-extractor.ts';
import type { FetchDependencies } from './fetch-pages.ts';
import type { OpenRun } from './run-steps.ts';

/** Documents that are fetched and extracted at the same time. */
const parallel = 4;
/** A batch is stored when it has so many documents or bytes. */
const batch = { documents: 100, bytes: 16_777_216 };
/** A longer document is left out. */
export const maxDocumentBytes = 33_554_432;
const maxRefBytes = 2_000;
/** After so many documents in a row that could not be fetched, the source counts as unreachable. */
const maxFailures = 5;

/**
 * Fetches what is new or changed of a page, and stores it batch by batch; a document that was stored in this listing
 * already is not fetched again.
 */
export async function fetchPage(
  deps: FetchDependencies,
  open: OpenRun,
  page: SourcePage,
  end: PageEnd,
  signal: AbortSignal,
): Promise<SyncRun> {
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
    const group = fresh.slice(from, from + parallel);
    const results = await Promise.allSettled(
      group.map((each) => outcomeOf(deps, open, each, known.get(each.ref) ?? null, signal)),
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

/** @throws SourceFailure when the source as a whole refuses or asks for a pause */
async function outcomeOf(
  deps: FetchDependencies,
  open: OpenRun,
  listed: ListedDocument,
  known: KnownDocument | null,
  signal: AbortSignal,
): Promise<Outcome> {
  const { run, source } = open;
  const { version } = listed;
  if (Buffer.byteLength(listed.ref) > maxRefBytes || listed.ref.includes('\0')) {
    const ref = `sha256:${createHash('sha256').update(listed.ref).digest('hex')}`;
    return { is: 'skipped', listed: { ...listed, ref }, known: null, version, code: 'ref_too_long' };
  }
  const isSame = version !== null && known?.version === version && known.state !== 'failed';
  const isLost = known?.state === 'stored' && known.documentId === null;
  if (known !== null && isSame && !isLost && run.mode === 'incremental') {
    return { is: 'unchanged', listed, known, version };
  }
  if (listed.byteSize !== null && listed.byteSize > maxDocumentBytes) {
    return { is: 'skipped', listed, known, version, code: 'too_large' };
  }
  let fetched: Fetched;
  if (listed.content !== undefined) {
    const { content, mediaType } = listed;
    fetched = { kind: 'content', content, mediaType, version };
  } else {
    try {
      await open.pace(1, signal);
      fetched = await source.fetch(
        {
          ref: listed.ref,
          version:
            known === null || isLost || run.mode === 'full' || known.state === 'failed'
              ? null
              : known.version,
          mediaType: listed.mediaType,
          maxBytes: maxDocumentBytes,
        },
        signal,
      );
    } catch (error) {
      return failedAlone(error, listed, known);
    }
  }
  switch (fetched.kind) {
    case 'unchanged':
      return known === null
        ? { is: 'skipped', listed, known, version, code: 'not_a_document' }
        : { is: 'unchanged', listed, known, version: version ?? known.version };
    case 'gone':
      return { is: 'skipped', listed, known, version: null, code: 'gone' };
    case 'skipped':
      return { is: 'skipped', listed, known, version, code: fetched.code };
    case 'content':
      return read(deps, open, { listed, known, fetched }, signal);
  }
}

/** A document's own failure; what concerns the whole source is thrown on. */
function failedAlone(error: unknown, listed: ListedDocument, known: KnownDocument | null): Outcome {
  const isOwn =
    error instanceof SourceFailure &&
    ['source_unreachable', 'source_invalid', 'scope_invalid'].includes(error.code);
  if (!isOwn) {
    throw error;
  }
  return { is: 'failed', listed, known, code: error.code, message: error.message };
}

async function read(
  { extractor }: FetchDependencies,
  { tenantId }: OpenRun,
  {
    listed,
    known,
    fetched,
  }: {
    listed: ListedDocument;
    known: KnownDocument | null;
    fetched: Extract<Fetched, { kind: 'content' }>;
  },
  signal: AbortSignal,
): Promise<Outcome> {
  const { content } = fetched;
  const version = fetched.version ?? listed.version;
  if (content.byteLength > maxDocumentBytes) {
    return { is: 'skipped', listed, known, version, code: 'too_large' };
  }
  const contentHash = createHash('sha256').update(content).digest('hex');
  if (known?.documentId != null && known.contentHash === contentHash && known.state === 'stored') {
    return { is: 'unchanged', listed, known, version };
  }
  const mediaType = declaredType(fetched.mediaType ?? listed.mediaType ?? undefined, listed.name);
  try {
    const extracted = await extractor.extract(
      { tenantId, read: () => Promise.resolve({ mediaType, content }) },
      signal,
    );
    return extracted.chunks.length === 0
      ? { is: 'skipped', listed, known, version, code: 'empty_document' }
      : {
          is: 'stored',
          listed,
          known,
          version,
          read: { content, contentHash, mediaType: extracted.mediaType, chunks: extracted.chunks },
        };
  } catch (error) {
    if (error instanceof ExtractionFailure) {
      return { is: 'skipped', listed, known, version, code: error.code };
    }
    if (error instanceof ExtractorBusy) {
      throw new SourceFailure('rate_limited', 'Too many documents of this tenant are being read.', {
        retryAfterMs: 5_000,
      });
    }
    throw error;
  }
}
