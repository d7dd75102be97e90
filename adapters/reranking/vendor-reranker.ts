import { estimateTokens } from '#domain/foundation/kernel/estimate-tokens.ts';
import { EmbeddingFailure } from '#domain/knowledge/embeddings/embedder.ts';
import { RerankingFailure, type Reranked, type Reranker } from '#domain/knowledge/reranking/reranker.ts';
import { rerankingDefaults } from '#domain/knowledge/reranking/reranking-defaults.ts';
import type { RerankingModel } from '#domain/knowledge/reranking/reranking-model.entity.ts';
import { failureOfStatus, toEmbeddingFailure, UnreadableAnswer } from '../embeddings/vendor-failures.ts';
import type { VendorPauses } from '../embeddings/vendor-pauses.ts';
import type { VendorShares } from '../embeddings/vendor-shares.ts';
import { sharedConnection } from '../models/shared-connection.ts';
import type { VendorConnection } from '../models/vendor-connection.ts';
import { connectionOf, type VendorOptions } from '../models/vendor-gateway.ts';
import { judgedTexts } from './judged-texts.ts';
import { rerankDialects, type RerankAnswer, type RerankDialect } from './rerank-dialects.ts';
import { unitScores } from './unit-scores.ts';

interface VendorReranking {
  model: RerankingModel;
  options: VendorOptions;
  pauses: VendorPauses;
  shares: VendorShares;
}

interface Judged {
  question: string;
  passages: string[];
}

/** A reranking model of a vendor, or of a server with an interface that is known. */
export function vendorReranker(vendor: VendorReranking): Reranker {
  const { model, shares } = vendor;
  return {
    rerank: async (question, passages, signal) => {
      const texts = judgedTexts(question, passages, model.maxTokens);
      try {
        return await shares.run('query', model.tenantId, signal, () => rerankAll(vendor, texts, signal));
      } catch (error) {
        throw error instanceof EmbeddingFailure ? toRerankingFailure(error) : error;
      }
    },
  };
}

/** A pair is judged alone: the scores of several requests can be compared. */
async function rerankAll(vendor: VendorReranking, texts: Judged, signal: AbortSignal): Promise<Reranked> {
  const { maxTexts } = rerankDialects[vendor.model.providerKind];
  const all: Reranked = { scores: [], tokens: 0, searches: 0 };
  for (let from = 0; from < texts.passages.length; from += maxTexts) {
    const passages = texts.passages.slice(from, from + maxTexts);
    const { scores, tokens, searches } = await request(vendor, { ...texts, passages }, signal);
    all.scores.push(...scores);
    all.tokens += tokens;
    all.searches += searches;
  }
  return all;
}

async function request(vendor: VendorReranking, judged: Judged, signal: AbortSignal): Promise<Reranked> {
  signal.throwIfAborted();
  const { model, options, pauses } = vendor;
  const { baseUrl } = rerankingDefaults(model.providerKind, model.providerModel);
  try {
    const defaults = { baseUrl: baseUrl ?? '' };
    const connection = await connectionOf(sharedConnection(model), defaults, options, 'reranking');
    return await pauses.heed({ model, connection }, () => ask(model, connection, judged, signal));
  } catch (error) {
    signal.throwIfAborted();
    throw error instanceof RerankingFailure ? error : toEmbeddingFailure(error);
  }
}

async function ask(
  model: RerankingModel,
  { baseURL, apiKey, fetch }: VendorConnection,
  judged: Judged,
  signal: AbortSignal,
): Promise<Reranked> {
  const { question, passages } = judged;
  const dialect = rerankDialects[model.providerKind];
  const body = JSON.stringify(dialect.body(model, question, passages));
  const answer = await fetch(`${baseURL.replace(/\/$/, '')}/rerank`, {
    method: 'POST',
    headers: [
      ['content-type', 'application/json'],
      ...(apiKey === '' ? [] : [['authorization', `Bearer ${apiKey}`] as [string, string]]),
    ],
    body,
    signal,
  });
  if (answer.status !== 200) {
    throw await failureOfStatus(answer);
  }
  const read = parse(await answer.text(), body.length, dialect);
  return { scores: unitScores(read.results, passages.length, model.scoreScale), ...usageOf(read, judged) };
}

/** Some servers repeat the passages, some of them with an escape for each letter. */
const maxUnitsPerSent = 6;
/** What an answer has beside them, such as the names of its members. */
const maxUnitsBeside = 65_536;

function parse(text: string, sent: number, dialect: RerankDialect): RerankAnswer {
  if (text.length > sent * maxUnitsPerSent + maxUnitsBeside) {
    throw new UnreadableAnswer();
  }
  try {
    return dialect.read(JSON.parse(text));
  } catch {
    throw new UnreadableAnswer();
  }
}

/**
 * What a server counts is limited by what it was sent: no text has more tokens than bytes. Estimates take milliseconds of
 * the process for long texts: only where the server counts none, and of the question once.
 */
function usageOf(read: RerankAnswer, { question, passages }: Judged): Pick<Reranked, 'tokens' | 'searches'> {
  const sumOf = (count: (text: string) => number) =>
    passages.reduce((sum, passage) => sum + count(passage), passages.length * count(question));
  const most = sumOf((text) => Buffer.byteLength(text)) + passages.length * bytesBesidePair;
  return {
    tokens: Math.min(read.tokens ?? sumOf(estimateTokens), most),
    searches: Math.min(read.searches ?? 1, passages.length),
  };
}

/** Marks between a question and a passage. */
const bytesBesidePair = 64;

function toRerankingFailure({ code }: EmbeddingFailure): RerankingFailure {
  switch (code) {
    case 'unavailable':
    case 'rate_limited':
    case 'busy':
      return new RerankingFailure('unavailable');
    case 'refused':
    case 'too_large':
      return new RerankingFailure('refused');
    case 'malformed':
      return new RerankingFailure('malformed');
  }
}
