import type { SearchAnswer } from '#api/contract/search.ts';
import { roundScore } from '#domain/knowledge/search/knowledge-result.ts';
import { promptContext } from '#domain/knowledge/search/prompt-context.ts';
import type { Passage } from '#domain/knowledge/search/passage.ts';
import type { KnowledgeAnswer } from '#domain/knowledge/search/search-knowledge.ts';

/** `maxTokens`: of the text for a prompt. */
export function presentSearch(answer: KnowledgeAnswer, maxTokens: number): SearchAnswer {
  const { passages, mode, reason, generation, reranking } = answer;
  return {
    mode,
    reason,
    generation,
    reranking: { model_id: reranking.modelId, reason: reranking.reason },
    results: passages.map((passage) => ({
      document_id: passage.documentId,
      filename: passage.filename,
      collection_id: passage.collectionId,
      text: passage.text,
      heading: passage.heading,
      page: passage.page,
      anchor: passage.anchor,
      start: passage.start,
      end: passage.end,
      score: roundScore(passage.score),
      keyword_score: roundScore(passage.keywordScore),
      vector_score: mode === 'hybrid' ? roundScore(passage.vectorScore) : null,
      rerank_score: passage.rerankScore === null ? null : roundScore(passage.rerankScore),
      attributes: passage.attributes,
    })),
    sources: sourcesOf(passages),
    context: promptContext(passages, maxTokens),
  };
}

/** In the order of their best passage. */
function sourcesOf(passages: readonly Passage[]): SearchAnswer['sources'] {
  const sources = new Map<string, SearchAnswer['sources'][number]>();
  for (const [index, { documentId, filename, collectionId, mediaType }] of passages.entries()) {
    const source = sources.get(documentId);
    if (source === undefined) {
      sources.set(documentId, {
        document_id: documentId,
        filename,
        collection_id: collectionId,
        media_type: mediaType,
        passages: [index],
      });
    } else {
      source.passages.push(index);
    }
  }
  return [...sources.values()];
}
