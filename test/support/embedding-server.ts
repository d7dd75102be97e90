import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';

export interface EmbeddingRequest {
  path: string;
  headers: IncomingHttpHeaders;
  body: Record<string, unknown>;
  texts: string[];
}

/** How the next requests are answered; `answer` is the ordinary way. */
export type EmbeddingScript =
  | 'answer'
  | 'shuffled'
  | 'one_short'
  | 'wrong_dims'
  | 'nan'
  | 'zero'
  | 'not_json'
  | 'gzip_bomb'
  | 'many_values'
  | 'nested'
  /** 256 MiB, if the client takes them. */
  | 'flood'
  | 'silence'
  | { status: number; headers?: Record<string, string>; body?: unknown };

export interface EmbeddingServer {
  /** Without a path. */
  origin: string;
  requests: EmbeddingRequest[];
  /** One for each of the next requests; then the ordinary way. */
  scripts: EmbeddingScript[];
  /** Each answer comes this much later. */
  delayMs: number;
  /** Open connections. */
  open(): number;
  /** Bytes that were sent on connections that have ended. */
  sent(): number;
  stop(): Promise<void>;
}

/** A vector that differs from text to text, and is not of length 1. */
export function serverVector(text: string, dims: number): number[] {
  return Array.from(
    { length: dims },
    (_, at) => 3 + text.length + (text.codePointAt(at % text.length) ?? 0) * at,
  );
}

/** Speaks the embedding interfaces of OpenAI (`/v1/embeddings`) and Google (`:batchEmbedContents`). */
export async function startEmbeddingServer(dims: number): Promise<EmbeddingServer> {
  const requests: EmbeddingRequest[] = [];
  const scripts: EmbeddingScript[] = [];
  let open = 0;
  let sent = 0;
  const server = createServer((incoming, response) => {
    void (async () => {
      const body = (await json(incoming)) as Record<string, unknown>;
      const path = incoming.url ?? '';
      const isGoogle = path.endsWith(':batchEmbedContents');
      const texts = isGoogle ? googleTexts(body) : (body['input'] as string[]);
      requests.push({ path, headers: incoming.headers, body, texts });
      if (running.delayMs > 0) await sleep(running.delayMs);
      answer(response, scripts.shift() ?? 'answer', { isGoogle, texts, dims });
    })();
  });
  server.on('connection', (socket) => {
    open += 1;
    socket.on('close', () => {
      open -= 1;
      sent += socket.bytesWritten;
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const running: EmbeddingServer = {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    scripts,
    delayMs: 0,
    open: () => open,
    sent: () => sent,
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return running;
}

function googleTexts(body: Record<string, unknown>): string[] {
  const asked = body['requests'] as { content: { parts: { text: string }[] } }[];
  return asked.map(({ content }) => content.parts.map(({ text }) => text).join(''));
}

interface Asked {
  isGoogle: boolean;
  texts: string[];
  dims: number;
}

function answer(response: ServerResponse, script: EmbeddingScript, { isGoogle, texts, dims }: Asked): void {
  if (typeof script === 'object') {
    response.writeHead(script.status, { 'content-type': 'application/json', ...script.headers });
    response.end(JSON.stringify(script.body ?? { error: { message: `about ${texts[0]}` } }));
    return;
  }
  if (script === 'silence') {
    return;
  }
  response.setHeader('content-type', 'application/json');
  if (script === 'gzip_bomb') {
    response.setHeader('content-encoding', 'gzip');
    response.end(gzipSync(Buffer.alloc(96 * 1_048_576, ' '), { level: 1 }));
    return;
  }
  if (script === 'flood') {
    Readable.from(Array.from({ length: 256 }, () => Buffer.alloc(1_048_576, ' '))).pipe(response);
    return;
  }
  if (script === 'many_values' || script === 'nested') {
    const size = 4 * 1_048_576;
    response.end(
      script === 'nested' ? '['.repeat(size) : `{"data":[{"embedding":[${'0,'.repeat(size / 2)}0]}]}`,
    );
    return;
  }
  const vectors: (number | null)[][] = texts.map((text) =>
    serverVector(text, script === 'wrong_dims' ? dims + 1 : dims),
  );
  if (script === 'one_short') {
    vectors.pop();
  }
  if (script === 'nan') {
    vectors[0] = [null, ...vectors[0]!.slice(1)];
  }
  if (script === 'zero') {
    vectors[0] = vectors[0]!.map(() => 0);
  }
  const data = vectors.map((embedding, index) => ({ object: 'embedding', index, embedding }));
  const body = isGoogle
    ? { embeddings: vectors.map((values) => ({ values })) }
    : {
        object: 'list',
        data: script === 'shuffled' ? data.toReversed() : data,
        usage: { prompt_tokens: 7 * texts.length, total_tokens: 7 * texts.length },
      };
  response.end(script === 'not_json' ? '{"data": [NaN' : JSON.stringify(body));
}
