import { LoopTurns } from '#domain/foundation/kernel/loop-turns.ts';
import { unit, VectorLists } from './vector-lists.ts';

/** Further rounds move few vectors to other lists. */
const maxRounds = 6;

export interface Learning {
  /** A random sample, of length 1 each. */
  sample: readonly Float32Array[];
  lists: number;
  signal: AbortSignal;
  /** Whether time is up: asked after each round; what is learned until then is of use. */
  isOver: () => boolean;
}

/** Spherical k-means over a sample. Its first centroids are the first of the sample: the same sample gives the same lists. */
export async function learnLists({ sample, lists, signal, isOver }: Learning): Promise<VectorLists> {
  const turns = new LoopTurns();
  const dims = sample[0]?.length ?? 0;
  const count = Math.min(lists, sample.length);
  let learned = new VectorLists(Float32Array.from(sample.slice(0, count).flatMap((one) => [...one])), dims);
  for (let round = 0; round < maxRounds && (round === 0 || !isOver()); round += 1) {
    const sums = Array.from({ length: count }, () => new Float32Array(dims));
    const members = new Uint32Array(count);
    for (const vector of sample) {
      await turns.pass(signal);
      const list = learned.listOf(vector) - 1;
      members[list] = (members[list] ?? 0) + 1;
      sums[list]?.forEach((sum, at, all) => {
        all[at] = sum + (vector[at] ?? 0);
      });
    }
    const centroids = new Float32Array(count * dims);
    for (const [list, sum] of sums.entries()) {
      // An empty list begins again at a vector of the sample.
      const again = sample[(list * 31 + round) % sample.length];
      centroids.set(members[list] === 0 && again !== undefined ? again : unit(sum), list * dims);
    }
    learned = new VectorLists(centroids, dims);
  }
  return learned;
}
