import { describe, expect, it } from 'vitest';
import { dequantise, quantise, similarity } from '#domain/knowledge/embeddings/quantise.ts';
import { unit } from '#domain/knowledge/embeddings/vector-lists.ts';
import { wordVector } from '#test/support/word-embedders.ts';

const dims = 64;
/** Vectors of a model have some direction in common. */
const mean = new Float32Array(dims).map((_, index) => (index === 7 ? 0.8 : 0.01));
const vectorOf = (text: string) =>
  unit(wordVector(text, dims).map((component, index) => 0.5 * component + mean[index]!));
const dot = (a: Float32Array, b: Float32Array) => a.reduce((sum, value, index) => sum + value * b[index]!, 0);

describe('quantise', () => {
  it('keeps cosines to less than a thousandth', () => {
    for (const text of ['the beacon is blue', 'a pump', 'quite different words']) {
      const [vector, question] = [vectorOf(text), vectorOf('blue pump')];
      const stored = quantise(vector, mean);
      expect(Math.abs(similarity(question, stored, mean) - dot(question, vector))).toBeLessThan(5e-4);
      expect(dot(unit(dequantise(stored, mean)), vector)).toBeGreaterThan(0.99999);
    }
  });

  it('halves the error of int8 with a bit of its rounding', () => {
    const errorOf = (vector: Float32Array, stored: Buffer) =>
      Math.hypot(...dequantise(stored, mean).map((component, index) => component - vector[index]!));
    const texts = Array.from({ length: 50 }, (_, n) => `text ${n} of the beacon ${n * 7}`);
    const [fine, coarse] = [dims + 4 + dims / 8, dims + 4].map((size) =>
      texts
        .map(vectorOf)
        .reduce((sum, vector) => sum + errorOf(vector, quantise(vector, mean).subarray(0, size)), 0),
    );
    expect(fine! / coarse!).toBeLessThan(0.6);
  });

  it('stores the mean itself, whose differences are all 0', () => {
    expect(similarity(unit(mean), quantise(mean, mean), mean)).toBeCloseTo(1, 6);
  });

  it('reads vectors of earlier versions, which have no bits of rounding', () => {
    const vector = vectorOf('the beacon is blue');
    const earlier = quantise(vector, mean).subarray(0, dims + 4);
    expect(similarity(vector, earlier, mean)).toBeGreaterThan(0.9999);
    expect(dot(unit(dequantise(earlier, mean)), vector)).toBeGreaterThan(0.9999);
  });

  it('reads vectors of the first versions, which are stored whole', () => {
    const vector = vectorOf('the beacon is blue');
    const largest = Math.max(...vector.map(Math.abs));
    const earlier = Buffer.from(Int8Array.from(vector, (one) => Math.round((one * 127) / largest)));
    expect(similarity(vector, earlier, mean)).toBeGreaterThan(0.999);
    expect(dot(unit(dequantise(earlier, mean)), vector)).toBeGreaterThan(0.999);
  });
});
