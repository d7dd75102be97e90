import { TooBusy } from '#domain/foundation/kernel/fair-semaphore.ts';
import { EmbeddingFailure } from '#domain/knowledge/embeddings/embedder.ts';
import type { FindLists } from '#domain/knowledge/embeddings/find-lists.ts';
import type { VectorLists } from '#domain/knowledge/embeddings/vector-lists.ts';
import { ChildLimitExceeded, ChildLost } from '../process/child-task.ts';
import { onceMore } from '../process/once-more.ts';
import type { TakeTurn } from './builtin-embedder.ts';
import type { VectorProcesses } from './vector-processes.ts';
import type { FoundLists, GivenLists, ListRequest } from './vector-requests.ts';

/** Of the vectors of one request: compared with 512 centroids they take about as long as a passage. */
const componentsAtOnce = 49_152;

const numbers = new WeakMap<VectorLists, number>();
let lastNumber = 0;

/**
 * Finds lists in the processes that embed passages.
 * @param takeTurn called for each request, as for a passage; omitted: they give way to nothing
 */
export function findListsIn(
  processes: VectorProcesses,
  takeTurn: TakeTurn = () => Promise.resolve(),
): FindLists {
  return async ({ tenantId, vectors, mean, lists }, signal) => {
    const number = numberOf(lists);
    const ask = async (part: readonly Buffer[], given: GivenLists | null): Promise<FoundLists> => {
      await takeTurn(tenantId, signal);
      const request = (): ListRequest => ({ kind: 'findLists', vectors: part, number, given });
      const run = () => processes.run<'findLists'>(tenantId, request, signal);
      return onceMore(run, isLost).catch(toFailure);
    };
    const atOnce = Math.max(1, Math.floor(componentsAtOnce / mean.length));
    const found: number[] = [];
    for (let from = 0; from < vectors.length; from += atOnce) {
      const part = vectors.slice(from, from + atOnce);
      let answer = await ask(part, null);
      if ('unknown' in answer) {
        answer = await ask(part, { centroids: lists.centroids, mean });
      }
      signal.throwIfAborted();
      if (!('lists' in answer) || answer.lists.length !== part.length) {
        throw new Error('The lists of stored vectors cannot be found.');
      }
      found.push(...answer.lists);
    }
    return found;
  };
}

function numberOf(lists: VectorLists): number {
  const number = numbers.get(lists) ?? (lastNumber += 1);
  numbers.set(lists, number);
  return number;
}

/** The next process is given the lists. */
const isLost = (error: unknown): boolean => error instanceof ChildLost || error instanceof ChildLimitExceeded;

function toFailure(error: unknown): never {
  throw error instanceof TooBusy ? new EmbeddingFailure('busy') : error;
}
