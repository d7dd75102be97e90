import type { EntityManager } from '@mikro-orm/postgresql';
import { DomainError } from '#domain/kernel/errors.ts';
import type { ToolDefinition } from '#domain/models/model-gateway.ts';
import type { SearchResult } from '#domain/responses/output-items.ts';
import type { OfferedTool } from '#domain/responses/response-request.ts';
import { longestQuestion } from './question.ts';
import { searchKnowledge, type KnowledgeAnswer, type Passage } from './search-knowledge.ts';

export const knowledgeToolName = 'knowledge_search';

/** What models are offered. */
export const knowledgeTool: ToolDefinition = {
  name: knowledgeToolName,
  description:
    'Searches the documents of this space and returns the passages that answer best. Each result has a label such as [1]: cite it right after every statement that rests on it.',
  parameters: {
    type: 'object',
    properties: {
      query: { type: 'string', description: 'What to look for, as a question or as keywords.' },
    },
    required: ['query'],
    additionalProperties: false,
  },
};

/** Bytes of UTF-8 that a model is told at most. */
const longestResult = 262_144;

/** A passage must hold more than half of what the question is about, so that an absent fact finds nothing. */
const leastCoverage = 0.5;

export interface KnowledgeCall {
  spaceId: string;
  tool: Pick<OfferedTool, 'collection_ids' | 'max_num_results' | 'alpha'>;
  /** JSON text as the model wrote it. */
  arguments: string;
  /** The first result gets the label after this one. */
  firstLabel: number;
}

export interface KnowledgeReply {
  failed: boolean;
  /** What the model is told: JSON. */
  text: string;
  results: SearchResult[] | null;
}

/** Runs one call. What the model or the space's state is at fault for is told to the model, not thrown. */
export async function runKnowledgeTool(em: EntityManager, call: KnowledgeCall): Promise<KnowledgeReply> {
  const parsed = parseKnowledgeArguments(call.arguments);
  if ('error' in parsed) {
    return failed(parsed.error);
  }
  const { collection_ids: collectionIds, max_num_results: limit, alpha } = call.tool;
  try {
    const { spaceId } = call;
    const answer = await searchKnowledge(em, { spaceId, collectionIds, query: parsed.query, limit, alpha });
    const passages = relevantPassages(answer);
    const text = renderKnowledgeResult({ passages, mode: answer.mode, firstLabel: call.firstLabel });
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

/** Reads what a model wrote as arguments; a mistake of the model is told to the model. */
export function parseKnowledgeArguments(text: string): KnowledgeArguments {
  const query = readQuery(text);
  if (query === undefined || query.trim() === '') {
    return { error: 'The arguments must be a JSON object with a non-empty string "query".' };
  }
  return query.length > longestQuestion
    ? { error: `"query" must have at most ${longestQuestion} characters.` }
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

/** Leaves out what merely shares a word with the question. */
export function relevantPassages(answer: KnowledgeAnswer): Passage[] {
  return answer.mode === 'hybrid'
    ? answer.passages
    : answer.passages.filter((passage) => passage.coverage > leastCoverage);
}

export interface ToldResults {
  passages: Passage[];
  mode: KnowledgeAnswer['mode'];
  /** The first passage gets the label after this one. */
  firstLabel: number;
}

/** The result as the model reads it: JSON, with `truncated` when passages had to be left out. */
export function renderKnowledgeResult({ passages, mode, firstLabel }: ToldResults): string {
  const results: object[] = [];
  let size = 0;
  for (const [index, passage] of passages.entries()) {
    const result = {
      label: `[${firstLabel + index + 1}]`,
      document_id: passage.documentId,
      filename: passage.filename,
      heading: passage.heading,
      text: passage.text,
      score: roundScore(passage.score),
    };
    size += Buffer.byteLength(JSON.stringify(result)) + 1;
    if (size > longestResult - 64) {
      return JSON.stringify({ results, mode, truncated: true });
    }
    results.push(result);
  }
  return JSON.stringify({ results, mode });
}

export function toSearchResults(passages: Passage[]): SearchResult[] {
  return passages.map((passage) => ({
    file_id: passage.documentId,
    filename: passage.filename,
    score: roundScore(passage.score),
    text: passage.text,
    attributes: passage.attributes,
  }));
}

function roundScore(score: number): number {
  return Math.round(score * 10_000) / 10_000;
}
