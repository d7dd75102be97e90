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
  const { components, bits, step, roundedBy, around } = parse(bytes, mean);
  return around.map((middle, index) => {
    const isAbove = ((bits[index >> 3] ?? 0) >> (index & 7)) & 1;
    return middle + step * ((components[index] ?? 0) + roundedBy * (2 * isAbove - 1));
  });
}

/**
 * Earlier versions stored vectors without the bits, and before that without a step: those have components of the vector
 * itself.
 */
function parse(bytes: Buffer, mean: Float32Array) {
  const dims = mean.length;
  const isWhole = bytes.length === dims;
  const hasBits = bytes.length > coarseSize(dims);
  const { buffer, byteOffset } = bytes;
  return {
    components: new Int8Array(buffer, byteOffset, dims),
    bits: hasBits
      ? new Uint8Array(buffer, byteOffset + coarseSize(dims), bytes.length - coarseSize(dims))
      : new Uint8Array(),
    step: isWhole ? 1 : bytes.readFloatLE(dims),
    /** In steps. */
    roundedBy: hasBits ? 0.25 : 0,
    around: isWhole ? new Float32Array(dims) : mean,
  };
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
  const { components, bits, step, roundedBy, around } = parse(quantised, mean);
  let sum = 0;
  let square = 0;
  for (let index = 0; index < mean.length; index += 1) {
    const isAbove = ((bits[index >> 3] ?? 0) >> (index & 7)) & 1;
    const rounded = (components[index] ?? 0) + roundedBy * (2 * isAbove - 1);
    const component = (around[index] ?? 0) + step * rounded;
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
