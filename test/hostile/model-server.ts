import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { gzipSync } from 'node:zlib';

/** The behaviour of each model of the server; its name is the model's name. */
export const manners = ['inflates', 'endless-line', 'endless-error', 'silent', 'endless-text'] as const;
export type Manner = (typeof manners)[number];

/** 64 MiB of zeros in 64 kB: repeated as members of one gzip stream for as long as the client reads. */
const inflatesTo64MiB = gzipSync(Buffer.alloc(64 * 1024 * 1024));
const filler = Buffer.alloc(256 * 1024, 'x');

export interface HostileModelServer {
  /** Base URL of a Chat Completions client, `/v1` included. */
  url: string;
  origin: string;
  /** Requests by model. */
  counts: Record<Manner, number>;
  stop(): Promise<void>;
}

/** A server of Chat Completions that answers each request with the attack that its model's name selects. */
export async function startHostileModels(): Promise<HostileModelServer> {
  const counts = Object.fromEntries(manners.map((manner) => [manner, 0])) as Record<Manner, number>;
  const server = createServer((request, response) => {
    response.on('error', () => undefined);
    void answer(request, response, counts).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: `${origin}/v1`,
    origin,
    counts,
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  counts: Record<Manner, number>,
): Promise<void> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  const { model } = JSON.parse(Buffer.concat(parts).toString('utf8')) as { model: Manner };
  counts[model] += 1;
  const stream = { 'content-type': 'text/event-stream' };
  switch (model) {
    case 'silent':
      return;
    case 'inflates':
      response.writeHead(200, { ...stream, 'content-encoding': 'gzip' });
      return pour(response, inflatesTo64MiB, 8);
    case 'endless-error':
      response.writeHead(500, { 'content-type': 'application/json' });
      return pour(response, filler, 4_000);
    case 'endless-line':
      response.writeHead(200, stream);
      response.write('data: ');
      return pour(response, filler, 4_000);
    case 'endless-text': {
      response.writeHead(200, stream);
      const delta = { choices: [{ index: 0, delta: { content: 'tides '.repeat(1_000) } }] };
      return pour(response, Buffer.from(`data: ${JSON.stringify(delta)}\n\n`), 100_000);
    }
  }
}

/** Writes as fast as the client reads, until it leaves or `times` is reached. */
function pour(response: ServerResponse, chunk: Buffer, times: number): Promise<void> {
  return pipeline(function* () {
    for (let n = 0; n < times; n += 1) yield chunk;
  }, response);
}
