import { chunkText } from '#domain/knowledge/ingestion/chunk-text.ts';
import type { Embedder } from '#domain/knowledge/embeddings/embedder.ts';
import { collectionSources } from '../knowledge/collection-sources.ts';
import { fetchCollection } from '../knowledge/fetch-collection.ts';

export interface Corpus {
  /** Passages of the public collections with their vectors. */
  passages: { text: string; vector: Float32Array }[];
  questions: { text: string; vector: Float32Array }[];
}

const signal = new AbortController().signal;

/**
 * Passages and questions of the public collections that are within reach; of more passages than `maxPassages` those at
 * equal distances.
 */
export async function readCorpus(
  embedder: Embedder,
  cache: string,
  { maxPassages, maxQuestions }: { maxPassages: number; maxQuestions: number },
): Promise<Corpus> {
  const corpus: Corpus = { passages: [], questions: [] };
  const texts: string[] = [];
  for (const source of collectionSources) {
    const collection = await fetchCollection(source, cache);
    for (const { title, text } of collection?.documents ?? []) {
      const section = { heading: title, page: null, anchor: null, start: 0, end: text.length };
      for (const chunk of chunkText({ text, sections: [section] })) {
        texts.push(chunk.heading === null ? chunk.text : `${chunk.heading}\n${chunk.text}`);
      }
    }
    const share = Math.ceil(maxQuestions / collectionSources.length);
    const asked = collection?.questions ?? [];
    const step = Math.max(1, asked.length / share);
    for (let n = 0; n < Math.min(share, asked.length); n += 1) {
      const { text } = asked[Math.floor(n * step)]!;
      corpus.questions.push({ text, vector: (await embedder.embedQuery(text, signal)).vector });
    }
  }
  if (texts.length === 0) throw new Error('No public collection is cached or within reach.');
  const count = Math.min(texts.length, maxPassages);
  for (let n = 0; n < count; n += 1) {
    const text = texts[Math.floor((n * texts.length) / count)]!;
    const [vector] = (await embedder.embedPassages([text], signal)).vectors;
    if (vector !== undefined) corpus.passages.push({ text, vector });
  }
  return corpus;
}

/** How much of a made passage comes from its second parent, and how far it lies beside the line between them. */
const mixed = 0.3;
const spread = 0.55;

/**
 * A passage by its number: first the real ones at equal distances, then mixtures of two real ones, whose vector lies
 * between theirs with noise of its own. The same number gives the same passage.
 */
export function passageAt(
  { passages }: Corpus,
  n: number,
  total: number,
): { text: string; vector: Float32Array } {
  if (total <= passages.length) return passages[Math.floor((n * passages.length) / total)]!;
  if (n < passages.length) return passages[n]!;
  const random = seeded(n);
  const one = passages[Math.floor(random() * passages.length)]!;
  const other = passages[Math.floor(random() * passages.length)]!;
  const text = `${half(one.text, 0)} ${half(other.text, 1)}`;
  const share = random() * mixed;
  const deviation = spread / Math.sqrt(one.vector.length);
  const vector = one.vector.map(
    (component, index) =>
      (1 - share) * component + share * (other.vector[index] ?? 0) + deviation * gaussian(random),
  );
  const length = Math.hypot(...vector);
  return { text, vector: vector.map((component) => component / length) };
}

function half(text: string, which: 0 | 1): string {
  const middle = text.indexOf(' ', Math.floor(text.length / 2));
  if (middle < 0) return text;
  return which === 0 ? text.slice(0, middle) : text.slice(middle + 1);
}

function gaussian(random: () => number): number {
  return random() + random() + random() + random() - 2;
}

/** Mulberry32. */
export function seeded(seed: number): () => number {
  let state = (seed * 0x9e3779b1) >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
