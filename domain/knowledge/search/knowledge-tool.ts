import { DomainError } from '#domain/foundation/kernel/errors.ts';
import {
  relevantPassages,
  renderKnowledgeResult,
  toSearchResults,
  visiblePassage,
  type SearchResult,
} from './knowledge-result.ts';
import { maxQuestionLength } from './question.ts';
import type { QuestionAccess } from './question-vector.ts';
import { searchKnowledge } from './search-knowledge.ts';

/** A response's settings for searches. */
export interface SearchSettings {
  /** null: every collection of the space. */
  collection_ids: string[] | null;
  max_num_results: number;
  alpha: number;
  /** Omitted: as the space has chosen. */
  rerank?: boolean;
}

export interface KnowledgeCall {
  spaceId: string;
  tool: SearchSettings;
  /** JSON text as the model wrote it. */
  arguments: string;
  /** The first result gets the label after this one. */
  firstLabel: number;
}

export interface KnowledgeReply {
  failed: boolean;
  /** The result for the model: JSON. */
  text: string;
  results: SearchResult[] | null;
}

/** Runs one call. Errors of the model, or from the state of the space, are returned to the model and not thrown. */
export async function runKnowledgeTool(access: QuestionAccess, call: KnowledgeCall): Promise<KnowledgeReply> {
  const parsed = parseKnowledgeArguments(call.arguments);
  if ('error' in parsed) {
    return failed(parsed.error);
  }
  const { collection_ids: collectionIds, max_num_results: limit, alpha, rerank } = call.tool;
  try {
    const { spaceId } = call;
    const answer = await searchKnowledge(access, {
      spaceId,
      collectionIds,
      query: parsed.query,
      limit,
      alpha,
      ...(rerank === undefined ? {} : { rerank }),
    });
    const passages = relevantPassages(answer).map(visiblePassage);
    const text = renderKnowledgeResult({ ...answer, passages, firstLabel: call.firstLabel });
    return { failed: false, text, results: toSearchResults(passages) };
  } catch (error) {
    if (error instanceof DomainError) {
      return failed(error.message);
    }
    throw error;
  }
}

function failed(error: string): KnowledgeReply {
  return { failed: true, text: JSON.stringify({ error }), results: null };
}

export type KnowledgeArguments = { query: string } | { error: string };

/** Parses the arguments that a model wrote; a mistake of the model is returned to the model. */
export function parseKnowledgeArguments(text: string): KnowledgeArguments {
  const query = readQuery(text);
  if (query === undefined || query.trim() === '') {
    return { error: 'The arguments must be a JSON object with a non-empty string "query".' };
  }
  return query.length > maxQuestionLength
    ? { error: `"query" must have at most ${maxQuestionLength} characters.` }
    : { query };
}

function readQuery(text: string): string | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  return typeof value === 'object' && value !== null && 'query' in value && typeof value.query === 'string'
    ? value.query
    : undefined;
}
