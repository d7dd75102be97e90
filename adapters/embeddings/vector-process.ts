import { dequantise } from '#domain/knowledge/embeddings/quantise.ts';
import { VectorLists } from '#domain/knowledge/embeddings/vector-lists.ts';
import { endWithParent } from '../process/end-with-parent.ts';
import { disableTelemetry } from './disable-telemetry.ts';
import infer from './inference-thread.ts';
import type { FoundLists, ListRequest, VectorRequest } from './vector-requests.ts';

/** Max lists that a process remembers: several spaces may be divided by turns. */
const maxKnown = 4;

endWithParent();
disableTelemetry();
// One after another: the next request is here before the one before it is done.
let last: Promise<unknown> = Promise.resolve();
process.on('message', (request: VectorRequest) => {
  last = last.then(async () =>
    process.send?.(request.kind === 'infer' ? await infer(request.task) : findLists(request)),
  );
});

/** The ones used last are at the end. */
const known = new Map<number, { lists: VectorLists; mean: Float32Array }>();

function findLists({ vectors, number, given }: ListRequest): FoundLists {
  // What arrives is a view of the whole message.
  const mean = given?.mean.slice();
  const found =
    given && mean
      ? { lists: new VectorLists(given.centroids.slice(), mean.length), mean }
      : known.get(number);
  if (found === undefined) {
    return { unknown: true };
  }
  known.delete(number);
  known.set(number, found);
  const [oldest] = known.keys();
  if (known.size > maxKnown && oldest !== undefined) {
    known.delete(oldest);
  }
  try {
    return { lists: vectors.map((vector) => found.lists.listOf(dequantise(vector, found.mean))) };
  } catch {
    return { failed: true };
  }
}
