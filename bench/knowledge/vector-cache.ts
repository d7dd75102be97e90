import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const keyBytes = 32;

/** Vectors of texts on disk, since embedding takes minutes. Each model has a file of its own. */
export class VectorCache {
  readonly #file: string;
  readonly #known = new Map<string, Float32Array>();

  constructor(folder: string, model: string, dims: number) {
    mkdirSync(folder, { recursive: true });
    this.#file = join(folder, `${model.replaceAll(/[^\w.-]/gu, '_')}.vectors`);
    const row = keyBytes + 4 * dims;
    const bytes = existsSync(this.#file) ? readFileSync(this.#file) : Buffer.alloc(0);
    for (let at = 0; at + row <= bytes.length; at += row) {
      const vector = new Float32Array(
        bytes.buffer.slice(bytes.byteOffset + at + keyBytes, bytes.byteOffset + at + row),
      );
      this.#known.set(bytes.toString('base64', at, at + keyBytes), vector);
    }
  }

  async get(text: string, embed: () => Promise<Float32Array>): Promise<Float32Array> {
    const digest = createHash('sha256').update(text).digest();
    const key = digest.toString('base64');
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const vector = await embed();
    this.#known.set(key, vector);
    appendFileSync(
      this.#file,
      Buffer.concat([digest, Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength)]),
    );
    return vector;
  }
}
