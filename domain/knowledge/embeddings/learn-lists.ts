import { LoopTurns } from '#domain/foundation/kernel/loop-turns.ts';
import type { FindLists } from './find-lists.ts';
import { dequantise } from './quantise.ts';
import { unit, VectorLists } from './vector-lists.ts';

/** Further rounds move few vectors to other lists. */
const maxRounds = 6;
/** A round begins within this time: what is learned until then is of use. A slice's time would be too short. */
const maxMs = 120_000;

export interface Learning {
  tenantId: string;
  /** A random sample, as it is stored. */
  sample: readonly Buffer[];
  mean: Float32Array;
  /** Max number of lists. */
  lists: number;
  findLists: FindLists;
  signal: AbortSignal;
}

/** Spherical k-means over a sample. Its first centroids are the first of the sample: the same sample gives the same lists. */
export async function learnLists(learning: Learning): Promise<VectorLists> {
  const { tenantId, sample, mean, findLists, signal } = learning;
  const turns = new LoopTurns();
  const dims = mean.length;
  const count = Math.min(learning.lists, sample.length);
  const first = new Float32Array(count * dims);
  sample.slice(0, count).forEach((bytes, list) => first.set(unit(dequantise(bytes, mean)), list * dims));
  let lists = new VectorLists(first, dims);
  const end = Date.now() + maxMs;
  for (let round = 0; round < maxRounds && (round === 0 || Date.now() < end); round += 1) {
    const found = await findLists({ tenantId, vectors: sample, mean, lists }, signal);
    const sums = new Float32Array(count * dims);
    const members = new Uint32Array(count);
    for (const [index, bytes] of sample.entries()) {
      await turns.pass(signal);
      const list = (found[index] ?? 1) - 1;
      members[list] = (members[list] ?? 0) + 1;
      const vector = unit(dequantise(bytes, mean));
      for (let at = 0; at < dims; at += 1) {
        sums[list * dims + at] = (sums[list * dims + at] ?? 0) + (vector[at] ?? 0);
      }
    }
    const centroids = new Float32Array(count * dims);
    for (let list = 0; list < count; list += 1) {
      // An empty list begins again at a vector of the sample.
      const again = sample[(list * 31 + round) % sample.length];
      const sum =
        members[list] === 0 && again !== undefined
          ? dequantise(again, mean)
          : sums.subarray(list * dims, (list + 1) * dims);
      centroids.set(unit(sum), list * dims);
    }
    lists = new VectorLists(centroids, dims);
  }
  return lists;
}
