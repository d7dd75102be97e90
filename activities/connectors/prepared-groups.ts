import type { ListedDocument } from '#domain/knowledge/connectors/source.ts';
import type { KnownDocument } from '#domain/knowledge/synchronisation/known-documents.ts';
import { isFetched, type FetchWork } from './fetch-document.ts';
import type { OpenRun } from './run-steps.ts';

/** Documents for which requests are taken from the shared bucket at once. */
const atOnce = 100;

export interface PreparedGroup {
  some: readonly ListedDocument[];
  /** How many of them need a request of their own. */
  requests: number;
}

/**
 * Documents in groups. Where the source reads several with one request, it reads those of the next group while one is
 * worked on. @throws SourceFailure, the signal's reason
 */
export async function* preparedGroups(
  work: FetchWork,
  documents: readonly ListedDocument[],
  known: ReadonlyMap<string, KnownDocument>,
): AsyncGenerator<PreparedGroup> {
  const { open, signal } = work;
  const prepare = async (some: readonly ListedDocument[]) => {
    signal.throwIfAborted();
    const requests = some.filter((each) => isFetched(work, each, known.get(each.ref) ?? null));
    return requests.length - (await prepared(open, requests, signal));
  };
  const groupAt = (from: number) => documents.slice(from, from + atOnce);
  let next = prepare(groupAt(0));
  try {
    for (let from = 0; from < documents.length; from += atOnce) {
      const requests = await next;
      next = prepare(groupAt(from + atOnce));
      next.catch(() => undefined);
      yield { some: groupAt(from), requests };
    }
  } finally {
    // The source is not closed while it reads.
    await next.catch(() => undefined);
  }
}

/** Has a source read several documents with one request, where it can. @returns how many it has */
async function prepared(
  { source, pace }: OpenRun,
  documents: readonly ListedDocument[],
  signal: AbortSignal,
): Promise<number> {
  if (source.prepare === undefined || documents.length < 2) {
    return 0;
  }
  try {
    await pace(1, signal);
  } catch {
    // Too early for others: what the group itself needs is asked for when it begins.
    signal.throwIfAborted();
    return 0;
  }
  return source.prepare(
    documents.map(({ ref }) => ref),
    signal,
  );
}
