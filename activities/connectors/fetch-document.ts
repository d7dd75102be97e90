import { createHash } from 'node:crypto';
import type { BulkTurns } from '#domain/foundation/kernel/bulk-turns.ts';
import { FairSemaphore } from '#domain/foundation/kernel/fair-semaphore.ts';
import { declaredType } from '#domain/knowledge/collections/readable-type.ts';
import { SourceFailure, type Fetched, type ListedDocument } from '#domain/knowledge/connectors/source.ts';
import {
  ExtractionFailure,
  ExtractorBusy,
  type DocumentExtractor,
} from '#domain/knowledge/ingestion/document-extractor.ts';
import { isHeld, type KnownDocument } from '#domain/knowledge/synchronisation/known-documents.ts';
import type { Outcome } from '#domain/knowledge/synchronisation/outcome.ts';
import { storableVersion, type StorableDocument } from '#domain/knowledge/synchronisation/storable-page.ts';
import { pause, type OpenRun, type SourceDependencies } from './run-steps.ts';

export interface FetchDependencies extends SourceDependencies {
  extractor: DocumentExtractor;
  /** Documents give way to responses. */
  bulk: BulkTurns;
}

/** One step of a run that fetches documents. */
export interface FetchWork {
  deps: FetchDependencies;
  open: OpenRun;
  signal: AbortSignal;
  /** Turns of this run to be extracted: the processes are few, and shared with uploads. */
  extractions: FairSemaphore;
}

export function extractionTurns(): FairSemaphore {
  return new FairSemaphore({ slots: 2, slotsPerKey: 2, waitersPerKey: Infinity, waitMs: 600_000 });
}

/** A longer document is left out. */
const maxDocumentBytes = 33_554_432;
/** How often, and after which pause, a document asks for its turn to be extracted. */
const maxBusyTries = 300;
const busyPauseMs = 100;

/** Whether a request is needed for the document. */
export function isFetched(work: FetchWork, listed: StorableDocument, known: KnownDocument | null): boolean {
  const isLong = listed.byteSize !== null && listed.byteSize > maxDocumentBytes;
  const isLeftOut = isLong || listed.isDigest === true;
  return listed.content === undefined && !isLeftOut && (known === null || !isUnchanged(work, listed, known));
}

function isUnchanged(work: FetchWork, { version }: ListedDocument, known: KnownDocument): boolean {
  return version !== null && known.version === version && isComparable(work, known);
}

/** Whether an equal version says that nothing is to be done. A `full` run compares contents. */
function isComparable({ open: { run } }: FetchWork, known: KnownDocument): boolean {
  return run.mode === 'incremental' && known.state !== 'failed' && !isLost(known) && !isHeld(known);
}

/** The document was deleted here, and not at its source. */
const isLost = (known: KnownDocument): boolean => known.state === 'stored' && known.documentId === null;

/** @throws SourceFailure when the source as a whole refuses or asks for a pause */
export async function fetchDocument(
  work: FetchWork,
  listed: StorableDocument,
  known: KnownDocument | null,
): Promise<Outcome> {
  const { open, signal } = work;
  const { source } = open;
  const { version } = listed;
  if (listed.isDigest === true) {
    return { is: 'skipped', listed, known, version, code: 'ref_too_long' };
  }
  if (known !== null && isUnchanged(work, listed, known)) {
    return { is: 'unchanged', listed, known, version };
  }
  if (listed.byteSize !== null && listed.byteSize > maxDocumentBytes) {
    return { is: 'skipped', listed, known, version, code: 'too_large' };
  }
  await work.deps.bulk.take(open.tenantId, signal);
  let fetched: Fetched;
  if (listed.content !== undefined) {
    const { content, mediaType } = listed;
    fetched = { kind: 'content', content, mediaType, version };
  } else {
    try {
      fetched = await source.fetch(
        {
          ref: listed.ref,
          version: known !== null && isComparable(work, known) ? known.version : null,
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
    case 'skipped': {
      const { code } = fetched;
      // A permission comes without another version.
      return { is: 'skipped', listed, known, version: code === 'forbidden_by_source' ? null : version, code };
    }
    case 'content':
      return read(work, { listed, known, fetched });
  }
}

/** Uploads and other runs of the tenant use the same few processes: a document waits for its turn. */
async function patiently<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ExtractorBusy) || tries === maxBusyTries) {
        throw error;
      }
      await pause(busyPauseMs * (0.5 + Math.random()), signal);
    }
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
  { deps: { extractor }, open: { tenantId }, signal, extractions }: FetchWork,
  {
    listed,
    known,
    fetched,
  }: {
    listed: ListedDocument;
    known: KnownDocument | null;
    fetched: Extract<Fetched, { kind: 'content' }>;
  },
): Promise<Outcome> {
  const { content } = fetched;
  const version = storableVersion(fetched.version) ?? listed.version;
  if (content.byteLength > maxDocumentBytes) {
    return { is: 'skipped', listed, known, version, code: 'too_large' };
  }
  const contentHash = createHash('sha256').update(content).digest('hex');
  if (known?.documentId != null && known.contentHash === contentHash) {
    return { is: 'unchanged', listed, known, version };
  }
  const mediaType = declaredType(fetched.mediaType ?? listed.mediaType ?? undefined, listed.name);
  try {
    const source = { tenantId, read: () => Promise.resolve({ mediaType, content }) };
    const extracted = await extractions.run(tenantId, signal, () =>
      patiently(signal, () => extractor.extract(source, signal)),
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
