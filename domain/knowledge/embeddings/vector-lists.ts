import type { EntityManager } from '@mikro-orm/postgresql';
import { coarseSize, dequantise, quantise } from './quantise.ts';

/**
 * The lists that the vectors of a large generation are divided into: each vector is in the list of its nearest centroid.
 * Lists are numbered from 1; 0 holds vectors that have none yet, and every search reads it.
 */
export class VectorLists {
  readonly count: number;
  readonly dims: number;
  /** Of length 1, one after the other. */
  readonly centroids: Float32Array;

  constructor(centroids: Float32Array, dims: number) {
    this.centroids = centroids;
    this.dims = dims;
    this.count = centroids.length / dims;
  }

  /** As vectors are stored, without the bits of their rounding. */
  toBytes(mean: Float32Array): Buffer {
    const size = coarseSize(this.dims);
    return Buffer.concat(
      Array.from({ length: this.count }, (_, list) =>
        quantise(this.centroids.subarray(list * this.dims, (list + 1) * this.dims), mean).subarray(0, size),
      ),
    );
  }

  static fromBytes(bytes: Buffer, mean: Float32Array): VectorLists {
    const size = coarseSize(mean.length);
    const count = bytes.length / size;
    const centroids = new Float32Array(count * mean.length);
    for (let list = 0; list < count; list += 1) {
      const vector = dequantise(bytes.subarray(list * size, (list + 1) * size), mean);
      centroids.set(unit(vector), list * mean.length);
    }
    return new VectorLists(centroids, mean.length);
  }

  listOf(vector: Float32Array): number {
    let best = -Infinity;
    let list = 0;
    for (let index = 0; index < this.count; index += 1) {
      const nearness = this.#dot(vector, index);
      if (nearness > best) {
        best = nearness;
        list = index + 1;
      }
    }
    return list;
  }

  /** The lists that are nearest to a vector, nearest first. */
  nearest(vector: Float32Array, limit: number): number[] {
    return Array.from({ length: this.count }, (_, index) => ({
      list: index + 1,
      nearness: this.#dot(vector, index),
    }))
      .sort((a, b) => b.nearness - a.nearness)
      .slice(0, limit)
      .map(({ list }) => list);
  }

  /** Four sums at once are more than twice as fast as one. */
  #dot(vector: Float32Array, index: number): number {
    const centroids = this.centroids;
    const from = index * this.dims;
    let [a, b, c, d] = [0, 0, 0, 0];
    // Behind the end of a vector there is nothing, which counts as 0.
    for (let at = 0; at < this.dims; at += 4) {
      a += (vector[at] ?? 0) * (centroids[from + at] ?? 0);
      b += (vector[at + 1] ?? 0) * (centroids[from + at + 1] ?? 0);
      c += (vector[at + 2] ?? 0) * (centroids[from + at + 2] ?? 0);
      d += (vector[at + 3] ?? 0) * (centroids[from + at + 3] ?? 0);
    }
    return a + b + c + d;
  }
}

/** A vector of length 1 in the same direction; one of zeros stays. */
export function unit(vector: Float32Array): Float32Array {
  let square = 0;
  for (const component of vector) {
    square += component * component;
  }
  const length = Math.sqrt(square) || 1;
  return vector.map((component) => component / length);
}

/** The lists of a generation; null before they are learned. */
export async function readLists(
  em: EntityManager,
  { tenantId, embeddingId, mean }: { tenantId: string; embeddingId: string; mean: Float32Array },
): Promise<VectorLists | null> {
  const [row] = await em.execute<{ centroids: Buffer | null }[]>(
    'select centroids from embedding_generations where tenant_id = ? and id = ?',
    [tenantId, embeddingId],
  );
  return row?.centroids == null ? null : VectorLists.fromBytes(row.centroids, mean);
}
