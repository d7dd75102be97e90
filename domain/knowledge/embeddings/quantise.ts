/** Max magnitude of a stored component. */
const steps = 127;
/** Bytes of the step, a float32 behind the components. */
const stepBytes = 4;

/** Bytes of components and step. */
export const coarseSize = (dims: number): number => dims + stepBytes;

/**
 * int8 for each component of the vector's difference from `mean`, the step between two of their values, and a bit for
 * each component: whether it was rounded down. Vectors of a model have a few large components in common, which would
 * make the steps of all others coarse. Without the bits, cosines are wrong by enough to exchange neighbours.
 */
export function quantise(vector: Float32Array, mean: Float32Array): Buffer {
  const differences = vector.map((component, index) => component - (mean[index] ?? 0));
  let largest = 0;
  for (const difference of differences) {
    largest = Math.max(largest, Math.abs(difference));
  }
  const step = Math.fround(largest / steps);
  const bitsAt = coarseSize(vector.length);
  const bytes = Buffer.alloc(bitsAt + Math.ceil(vector.length / 8));
  bytes.writeFloatLE(step, vector.length);
  if (step === 0) {
    return bytes;
  }
  differences.forEach((difference, index) => {
    const exact = difference / step;
    const component = Math.max(-steps, Math.min(steps, Math.round(exact)));
    bytes.writeInt8(component, index);
    if (exact > component) {
      const at = bitsAt + (index >> 3);
      bytes[at] = (bytes[at] ?? 0) | (1 << (index & 7));
    }
  });
  return bytes;
}

/** A stored vector in its direction. */
export function dequantise(bytes: Buffer, mean: Float32Array): Float32Array {
  const vector = new Float32Array(mean.length);
  readComponents(bytes, mean, (component, index) => {
    vector[index] = component;
  });
  return vector;
}

/**
 * Earlier versions stored vectors without the bits, and before that without a step: those have components of the vector
 * itself.
 */
function readComponents(
  bytes: Buffer,
  mean: Float32Array,
  take: (component: number, index: number) => void,
): void {
  const dims = mean.length;
  const isWhole = bytes.length === dims;
  const step = isWhole ? 1 : bytes.readFloatLE(dims);
  const bitsAt = coarseSize(dims);
  const hasBits = bytes.length > bitsAt;
  const components = new Int8Array(bytes.buffer, bytes.byteOffset, dims);
  for (let index = 0; index < dims; index += 1) {
    const isAbove = ((bytes[bitsAt + (index >> 3)] ?? 0) >> (index & 7)) & 1;
    const rounded = hasBits ? isAbove / 2 - 0.25 : 0;
    take((isWhole ? 0 : (mean[index] ?? 0)) + step * ((components[index] ?? 0) + rounded), index);
  }
}

/** The signs of the components around `mean`, as PostgreSQL writes a bit string. */
export function signBits(vector: Float32Array, mean: Float32Array): string {
  return Array.from(vector, (component, index) => (component > (mean[index] ?? 0) ? '1' : '0')).join('');
}

/**
 * A share of the components, those that are furthest from `mean`, as a bit string: they decide most of the cosines of a
 * question.
 */
export function heavyBits(vector: Float32Array, mean: Float32Array, share: number): string {
  const distances = vector.map((component, index) => Math.abs(component - (mean[index] ?? 0)));
  const least = distances.toSorted()[Math.floor((1 - share) * vector.length)] ?? 0;
  return Array.from(distances, (distance) => (distance >= least && distance > 0 ? '1' : '0')).join('');
}

/** Cosine of a vector of length 1 with a quantised one. */
export function similarity(vector: Float32Array, quantised: Buffer, mean: Float32Array): number {
  let sum = 0;
  let square = 0;
  readComponents(quantised, mean, (component, index) => {
    sum += (vector[index] ?? 0) * component;
    square += component * component;
  });
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
