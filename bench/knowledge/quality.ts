import type { Embedders } from '#domain/knowledge/embeddings/embedder.ts';
import { searchKnowledge } from '#domain/knowledge/search/search-knowledge.ts';
import type { KnowledgeWorld } from '#test/support/knowledge-world.ts';
import { coverDensity } from './cover-density.ts';
import type { LoadedCollection } from './load.ts';
import { ndcg, rankDocuments } from './ndcg.ts';
import type { Question, TestCollection } from './test-collection.ts';

export const alphas = [0, 0.25, 0.5, 0.75, 1] as const;

/** Means of nDCG@10 over the questions of a collection. */
export interface Quality {
  name: string;
  questions: number;
  passages: number;
  /** Of the keyword search before this one. */
  before: number;
  byAlpha: Record<string, number>;
}

/** Passages of a search: a document is ranked by its best. */
const limit = 100;

export async function measureQuality(
  world: KnowledgeWorld,
  { space, collectionId, passages, sourceIds }: LoadedCollection,
  collection: TestCollection,
  { embedders, max }: { embedders: Embedders; max: number },
): Promise<Quality> {
  const questions = atEqualDistances(collection.questions, max);
  const access = world.access(space, embedders);
  const score = (hits: readonly { documentId: string }[], { relevant }: Question) =>
    ndcg(
      rankDocuments(hits).map((id) => sourceIds.get(id) ?? ''),
      relevant,
    );
  const sums = new Map<string, number>();
  const add = (key: string, value: number) => sums.set(key, (sums.get(key) ?? 0) + value);
  for (const question of questions) {
    const { text } = question;
    const hits = await access.inTransaction((em) =>
      coverDensity(em, { collectionId, question: text, passages }),
    );
    add('before', score(hits, question));
    for (const alpha of alphas) {
      const query = { spaceId: space.spaceId, collectionIds: [collectionId], query: text, limit, alpha };
      const answer = await searchKnowledge(access, query);
      if (alpha > 0 && answer.mode !== 'hybrid')
        throw new Error(`No vector search: ${answer.reason ?? 'no reason'}.`);
      add(String(alpha), score(answer.passages, question));
    }
  }
  const mean = (key: string) => (sums.get(key) ?? 0) / questions.length;
  return {
    name: collection.name,
    questions: questions.length,
    passages,
    before: mean('before'),
    byAlpha: Object.fromEntries(alphas.map((alpha) => [alpha, mean(String(alpha))])),
  };
}

function atEqualDistances(questions: readonly Question[], max: number): Question[] {
  const step = Math.max(1, questions.length / max);
  return questions.filter((_, index) => Math.floor(index / step) !== Math.floor((index - 1) / step));
}
