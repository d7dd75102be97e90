/** Max magnitude of a stored component. */
const steps = 127;

/**
 * int8 for each component: one of 255 steps up to the largest of them. Only the direction is kept, since the length of
 * a vector is 1.
 */
export function quantise(vector: Float32Array): Buffer {
  let largest = 0;
  for (const component of vector) {
    largest = Math.max(largest, Math.abs(component));
  }
  const step = largest === 0 ? 1 : largest / steps;
  return Buffer.from(Int8Array.from(vector, (component) => Math.round(component / step)));
}

/** The signs of the components around `mean`, as PostgreSQL writes a bit string. */
export function signBits(vector: Float32Array, mean: Float32Array): string {
  return Array.from(vector, (component, index) => (component > (mean[index] ?? 0) ? '1' : '0')).join('');
}

/** Cosine of a vector of length 1 with a quantised one. */
export function similarity(vector: Float32Array, quantised: Buffer): number {
  const stored = new Int8Array(quantised.buffer, quantised.byteOffset, quantised.length);
  let sum = 0;
  let square = 0;
  for (let index = 0; index < stored.length; index += 1) {
    const component = stored[index] ?? 0;
    sum += (vector[index] ?? 0) * component;
    square += component * component;
  }
  return square === 0 ? 0 : sum / Math.sqrt(square);
}

export function floatsToBytes(vector: Float32Array): Buffer {
  const bytes = Buffer.alloc(vector.length * 4);
  vector.forEach((component, index) => bytes.writeFloatLE(component, index * 4));
  return bytes;
}

export function bytesToFloats(bytes: Uint8Array): Float32Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Float32Array.from({ length: bytes.byteLength / 4 }, (_, index) => view.getFloat32(index * 4, true));
}
