/** Max magnitude of a stored component. */
const steps = 127;
/** Bytes of the step, a float32 behind the components. */
const stepBytes = 4;

export const quantisedSize = (dims: number): number => dims + stepBytes;

/**
 * int8 for each component of the vector's difference from `mean`, and the step between two of their values. Vectors of a
 * model have a few large components in common, which would make the steps of all others coarse.
 */
export function quantise(vector: Float32Array, mean: Float32Array): Buffer {
  const differences = vector.map((component, index) => component - (mean[index] ?? 0));
  let largest = 0;
  for (const difference of differences) {
    largest = Math.max(largest, Math.abs(difference));
  }
  const step = Math.fround(largest / steps) || 1;
  const bytes = Buffer.alloc(quantisedSize(vector.length));
  differences.forEach((difference, index) =>
    bytes.writeInt8(Math.max(-steps, Math.min(steps, Math.round(difference / step))), index),
  );
  bytes.writeFloatLE(step, vector.length);
  return bytes;
}

/** A stored vector in its direction. Those of earlier versions have no step: their components are of the vector itself. */
export function dequantise(bytes: Buffer, mean: Float32Array): Float32Array {
  const { components, step, isWhole } = parse(bytes, mean.length);
  const vector = isWhole ? new Float32Array(mean.length) : mean.slice();
  for (let index = 0; index < vector.length; index += 1) {
    vector[index] = (vector[index] ?? 0) + step * (components[index] ?? 0);
  }
  return vector;
}

function parse(bytes: Buffer, dims: number) {
  const isWhole = bytes.length === dims;
  return {
    components: new Int8Array(bytes.buffer, bytes.byteOffset, dims),
    step: isWhole ? 1 : bytes.readFloatLE(dims),
    isWhole,
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
  const { components, step, isWhole } = parse(quantised, vector.length);
  let sum = 0;
  let square = 0;
  for (let index = 0; index < vector.length; index += 1) {
    const component = (isWhole ? 0 : (mean[index] ?? 0)) + step * (components[index] ?? 0);
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
