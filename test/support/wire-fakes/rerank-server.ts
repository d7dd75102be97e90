import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { z } from 'zod';
import type { RerankingProvider } from '#domain/knowledge/reranking/reranking-model.entity.ts';

/** Paths of the base URLs. */
const paths: Record<RerankingProvider, string> = {
  cohere: '/cohere/v2',
  jina: '/jina/v1',
  voyage: '/voyage/v1',
  rerank_compatible: '/compatible/v1',
  text_embeddings_inference: '/inference',
};

export interface RerankRequest {
  path: string;
  headers: IncomingHttpHeaders;
  body: Record<string, unknown>;
  query: string;
  texts: string[];
  /** Why the vendor refuses it; null: it does not. */
  refusal: string | null;
}

/** How the next requests are answered; `answer` is the ordinary way. */
export type RerankScript =
  | 'answer'
  | 'wrong_index'
  | 'negative_index'
  | 'duplicate_index'
  | 'one_short'
  | 'one_more'
  | 'nan'
  | 'null_score'
  | 'infinite'
  | 'out_of_scale'
  | 'text_score'
  | 'no_results'
  | 'not_json'
  | 'gzip_bomb'
  | 'nested'
  | 'many_values'
  /** 256 MiB, if the client takes them. */
  | 'flood'
  /** A byte now and then, without end. */
  | 'drip'
  | 'huge_usage'
  | 'silence'
  | { status: number; headers?: Record<string, string>; body?: unknown };

export interface RerankServer {
  /** Without a path. */
  origin: string;
  baseUrl(kind: RerankingProvider): string;
  requests: RerankRequest[];
  /** One for each of the next requests; then the ordinary way. */
  scripts: RerankScript[];
  /** The score of a text, in the scale of the model's row. */
  judge: (query: string, text: string) => number;
  /** Called before an answer. */
  before: () => void | Promise<void>;
  /** Open connections. */
  open(): number;
  stop(): Promise<void>;
}

const documents = z.array(z.string().min(1)).min(1);
const common = { model: z.string(), query: z.string().min(1), documents };
/** What each vendor takes, and refuses beside it. */
const bodies: Record<RerankingProvider, z.ZodType<Record<string, unknown>>> = {
  cohere: z.strictObject({ ...common, top_n: z.int().positive(), max_tokens_per_doc: z.int().positive() }),
  jina: z.strictObject({ ...common, top_n: z.int().positive(), return_documents: z.boolean() }),
  voyage: z.strictObject({
    ...common,
    documents: documents.max(1_000),
    top_k: z.int().positive(),
    return_documents: z.boolean(),
    truncation: z.boolean(),
  }),
  rerank_compatible: z.strictObject({ ...common, top_n: z.int().positive() }),
  text_embeddings_inference: z.strictObject({
    query: z.string(),
    texts: documents.max(32, 'batch size > maximum allowed batch size 32'),
    raw_scores: z.boolean(),
    truncate: z.boolean(),
  }),
};

/** Speaks the reranking interfaces of Cohere, Jina, Voyage, of servers like them, and of Text Embeddings Inference. */
export async function startRerankServer(): Promise<RerankServer> {
  let open = 0;
  const server = createServer((incoming, response) => {
    void (async () => {
      const body = (await json(incoming)) as Record<string, unknown>;
      const path = incoming.url ?? '';
      const [kind] = Object.entries(paths).find(([, base]) => path === `${base}/rerank`) ?? [];
      if (kind === undefined) {
        response.writeHead(404).end();
        return;
      }
      const refused = bodies[kind as RerankingProvider].safeParse(body).error?.message ?? null;
      const request: RerankRequest = {
        path,
        headers: incoming.headers,
        body,
        query: String(body['query']),
        texts: (body['texts'] ?? body['documents'] ?? []) as string[],
        refusal: refused,
      };
      running.requests.push(request);
      if (refused !== null) {
        response.writeHead(422, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ message: `about ${request.query}: ${refused}` }));
        return;
      }
      await running.before();
      await answer(response, running, { kind: kind as RerankingProvider, ...request });
    })().catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined));
  });
  server.on('connection', (socket) => {
    open += 1;
    socket.on('close', () => (open -= 1));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const running: RerankServer = {
    origin,
    baseUrl: (kind) => origin + paths[kind],
    requests: [],
    scripts: [],
    judge: (query, text) => wordsInCommon(query, text),
    before: () => {},
    open: () => open,
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return running;
}

/** Share of the question's words that a text has. */
function wordsInCommon(query: string, text: string): number {
  const asked = new Set(query.toLowerCase().match(/\p{L}+/gu));
  const said = new Set(text.toLowerCase().match(/\p{L}+/gu));
  return [...asked].filter((word) => said.has(word)).length / Math.max(1, asked.size);
}

type Asked = RerankRequest & { kind: RerankingProvider };
type Scored = { index: number; score: unknown };

async function answer(response: ServerResponse, server: RerankServer, asked: Asked): Promise<void> {
  const script = server.scripts.shift() ?? 'answer';
  if (typeof script === 'object') {
    response.writeHead(script.status, { 'content-type': 'application/json', ...script.headers });
    response.end(JSON.stringify(script.body ?? { message: `about ${asked.query}` }));
    return;
  }
  if (script === 'silence') return;
  response.setHeader('content-type', 'application/json');
  switch (script) {
    case 'gzip_bomb':
      response.setHeader('content-encoding', 'gzip');
      response.end(gzipSync(Buffer.alloc(96 * 1_048_576, ' '), { level: 1 }));
      return;
    case 'flood':
      Readable.from(Array.from({ length: 256 }, () => Buffer.alloc(1_048_576, ' '))).pipe(response);
      return;
    case 'nested':
      response.end('['.repeat(3 * 1_048_576));
      return;
    case 'many_values':
      response.end(`{"results":[${'0,'.repeat(1_500_000)}0]}`);
      return;
    case 'not_json':
      response.end('{"results": [');
      return;
    case 'drip':
      while (!response.destroyed) {
        response.write(' ');
        await sleep(20);
      }
      return;
    default:
      response.end(wire(asked, misread(script, scoresOf(server, asked)), script));
  }
}

/** Best first, as vendors answer. */
function scoresOf({ judge }: RerankServer, { query, texts }: Asked): Scored[] {
  return texts.map((text, index) => ({ index, score: judge(query, text) })).sort((a, b) => b.score - a.score);
}

function misread(script: RerankScript, results: Scored[]): Scored[] {
  const [first, ...rest] = results as [Scored, ...Scored[]];
  switch (script) {
    case 'wrong_index':
      return [{ ...first, index: results.length }, ...rest];
    case 'negative_index':
      return [{ ...first, index: -1 }, ...rest];
    case 'duplicate_index':
      return [first, ...rest.slice(0, -1), { ...first, score: 0 }];
    case 'one_short':
      return rest;
    case 'one_more':
      return [...results, { index: results.length, score: 0.5 }];
    case 'nan':
      return [{ ...first, score: 'NaN literal' }, ...rest];
    case 'null_score':
      return [{ ...first, score: null }, ...rest];
    case 'infinite':
      return [{ ...first, score: '1e999 literal' }, ...rest];
    case 'out_of_scale':
      return [{ ...first, score: 7.5 }, ...rest];
    case 'text_score':
      return [{ ...first, score: '0.5' }, ...rest];
    default:
      return results;
  }
}

function wire({ kind, texts, body }: Asked, results: Scored[], script: RerankScript): string {
  const tokens = script === 'huge_usage' ? Number.MAX_SAFE_INTEGER : 11 * texts.length;
  const scored = results.map(({ index, score }) => ({ index, relevance_score: score }));
  const named = script === 'no_results' ? {} : { results: scored };
  const searches = script === 'huge_usage' ? tokens : 1;
  const bodyOf: Record<RerankingProvider, unknown> = {
    cohere: {
      id: '8bc9f7f3',
      ...named,
      meta: { api_version: { version: '2' }, billed_units: { search_units: searches } },
    },
    jina: { model: body['model'], object: 'list', usage: { total_tokens: tokens }, ...named },
    voyage: {
      object: 'list',
      ...(script === 'no_results' ? {} : { data: scored }),
      model: body['model'],
      usage: { total_tokens: tokens },
    },
    // Some repeat the passages, whether they were asked to or not.
    rerank_compatible: {
      id: 'rerank-1',
      model: body['model'],
      usage: { prompt_tokens: tokens, total_tokens: tokens },
      ...(script === 'no_results'
        ? {}
        : {
            results: scored.map((each) => ({
              ...each,
              document: { text: texts[each.index] ?? '', multi_modal: null },
            })),
          }),
    },
    text_embeddings_inference: script === 'no_results' ? {} : results,
  };
  return JSON.stringify(bodyOf[kind]).replaceAll(/"(NaN|1e999) literal"/g, '$1');
}
