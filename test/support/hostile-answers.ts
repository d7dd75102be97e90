import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';

/** The inflated size of a bomb. */
const bombBytes = 96 * 1_048_576;

const quick = { level: 1 };
const bombs: Record<string, (bytes: Buffer) => Buffer> = {
  gzip: (bytes) => gzipSync(bytes, quick),
  deflate: (bytes) => deflateSync(bytes, quick),
  br: (bytes) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
  zstd: (bytes) => zstdCompressSync(bytes),
};

export const floods = ['gzip', 'deflate', 'br', 'zstd', 'endless-line', 'endless-event'] as const;
export const stalls = ['no-headers', 'endless-1xx', 'byte-by-byte', 'silent-body'] as const;
export type Attack = (typeof floods)[number] | (typeof stalls)[number];

export interface HostileAnswers {
  /** `<origin>/<attack>` and `<origin>/<attack>/error` answer every request below them with that attack. */
  origin: string;
  /** The same server under another name. */
  otherOrigin: string;
  /**
   * Requests received below `<origin>/<name>`. `leave` redirects each to `<otherOrigin>/left`, `move` to
   * `<origin>/moved`.
   */
  requests(name: string): number;
  /** Connections still open by clients. */
  open(): number;
  stop(): Promise<void>;
}

/** A server with too large or too slow answers, with status 200 or 500, for any request. */
export async function startHostileAnswers(): Promise<HostileAnswers> {
  const zeroes = Buffer.alloc(bombBytes, 'a');
  const packed = new Map(Object.entries(bombs).map(([coding, pack]) => [coding, pack(zeroes)]));
  const sockets = new Set<Socket>();
  const requests = new Map<string, number>();
  const portOf = () => (server.address() as AddressInfo).port;
  const otherOrigin = () => `http://localhost:${portOf()}`;
  const server = createServer((request, response) => {
    request.resume();
    const [, attack = '', how] = (request.url ?? '').split('/');
    requests.set(attack, (requests.get(attack) ?? 0) + 1);
    const location = { leave: `${otherOrigin()}/left`, move: '/moved' }[attack];
    if (location !== undefined) {
      response.writeHead(307, { location }).end();
      return;
    }
    const status = how === 'error' ? 500 : 200;
    const bomb = packed.get(attack);
    if (bomb === undefined) {
      const answer: Answer | undefined = attacks[attack as keyof typeof attacks];
      if (answer === undefined) {
        response.writeHead(404).end();
      } else {
        answer(response, status, request);
      }
      return;
    }
    response.writeHead(status, { 'content-type': typeOf(request), 'content-encoding': attack }).end(bomb);
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    origin: `http://127.0.0.1:${portOf()}`,
    otherOrigin: otherOrigin(),
    requests: (name) => requests.get(name) ?? 0,
    open: () => sockets.size,
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** The text that the caller would take for its answer. */
function typeOf(request: IncomingMessage): string {
  return /responses|messages|completions|GenerateContent/.test(request.url ?? '')
    ? 'text/event-stream'
    : 'application/json';
}

const megabyte = Buffer.alloc(1_048_576, 'a');
const line = Buffer.from(`data: ${'a'.repeat(1_000)}\n`);

type Answer = (response: ServerResponse, status: number, request: IncomingMessage) => void;

const attacks: Record<Exclude<Attack, 'gzip' | 'deflate' | 'br' | 'zstd'>, Answer> = {
  'endless-line': (response, status, request) => pour(response, status, request, megabyte),
  'endless-event': (response, status, request) => pour(response, status, request, line),
  'no-headers': () => undefined,
  'endless-1xx': (response) => {
    const timer = setInterval(() => response.writeProcessing(), 20);
    response.on('close', () => clearInterval(timer));
  },
  'byte-by-byte': (response, status, request) => {
    response.writeHead(status, { 'content-type': typeOf(request) });
    const timer = setInterval(() => response.write(' '), 20);
    response.on('close', () => clearInterval(timer));
  },
  'silent-body': (response, status, request) => {
    response.writeHead(status, { 'content-type': typeOf(request) });
    response.flushHeaders();
  },
};

function pour(response: ServerResponse, status: number, request: IncomingMessage, part: Buffer): void {
  response.writeHead(status, { 'content-type': typeOf(request) });
  const parts = Buffer.concat(Array.from({ length: Math.ceil(65_536 / part.length) }, () => part));
  let left = bombBytes;
  const more = () => {
    while (left > 0 && !response.destroyed) {
      left -= parts.length;
      if (!response.write(parts)) {
        response.once('drain', more);
        return;
      }
    }
    response.end();
  };
  more();
}
