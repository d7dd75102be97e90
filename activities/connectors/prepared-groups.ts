import { SourceFailure, type ListedDocument } from '#domain/knowledge/connectors/source.ts';
import type { KnownDocument } from '#domain/knowledge/synchronisation/known-documents.ts';
import { isFetched, type FetchWork } from './fetch-document.ts';

/** Documents for which requests are taken from the shared bucket at once. */
const atOnce = 100;

export interface PreparedGroup {
  some: readonly ListedDocument[];
  /** How many of them need a request of their own. */
  requests: number;
}

/**
 * Documents in groups. Where the source reads several with one request, it reads those of the next group while one is
 * worked on; where that ends early, so does the reading. @throws SourceFailure, the signal's reason
 */
export async function* preparedGroups(
  work: FetchWork,
  documents: readonly ListedDocument[],
  known: ReadonlyMap<string, KnownDocument>,
): AsyncGenerator<PreparedGroup> {
  const stopped = new AbortController();
  const reading = reader(work, known, AbortSignal.any([work.signal, stopped.signal]));
  const groupAt = (from: number) => documents.slice(from, from + atOnce);
  let next: Promise<number | null> = reading.now(groupAt(0));
  try {
    for (let from = 0; from < documents.length; from += atOnce) {
      const some = groupAt(from);
      const requests = (await next) ?? (await reading.now(some));
      next = reading.ahead(groupAt(from + atOnce));
      next.catch(() => undefined);
      yield { some, requests };
    }
  } finally {
    stopped.abort();
    // The source is not closed while it reads.
    await next.catch(() => undefined);
  }
}

/** Has a source read several documents with one request, where it can; says how many requests are left. */
function reader(work: FetchWork, known: ReadonlyMap<string, KnownDocument>, signal: AbortSignal) {
  const { source, pace } = work.open;
  const refsOf = (some: readonly ListedDocument[]) =>
    some.filter((each) => isFetched(work, each, known.get(each.ref) ?? null)).map(({ ref }) => ref);
  const isJoint = (refs: readonly string[]) => source.prepare !== undefined && refs.length > 1;
  const read = async (refs: readonly string[]) => {
    signal.throwIfAborted();
    return refs.length - ((await source.prepare?.(refs, signal)) ?? 0);
  };
  return {
    now: async (some: readonly ListedDocument[]): Promise<number> => {
      const refs = refsOf(some);
      if (!isJoint(refs)) {
        return refs.length;
      }
      await pace(1, signal);
      return read(refs);
    },
    /** Null: the requests of others come first, and the group asks again when it begins. */
    ahead: async (some: readonly ListedDocument[]): Promise<number | null> => {
      const refs = refsOf(some);
      if (!isJoint(refs)) {
        return refs.length;
      }
      try {
        await pace(1, signal);
      } catch (error) {
        if (error instanceof SourceFailure && error.code === 'rate_limited') {
          return null;
        }
        throw error;
      }
      return read(refs);
    },
  };
}
