import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ZodType } from 'zod';
import { splitPieces, seedOf } from '../model-script.ts';

/**
 * The script of the model behind a fake: in each of its first rounds a call of an offered tool, then the
 * text.
 */
export interface FakeScript {
  text: string;
  /** How many rounds call `knowledge_search`. */
  toolRounds?: number;
  toolQuery?: string;
  /** Calls of any tool, one per round; used instead of the searches above. */
  calls?: ToolCall[];
  /** Its reasoning before each round; none without it. */
  reasoning?: string;
  tokenDelayMs?: number;
  /** Claude since 4.6: no trailing assistant message. */
  refusesPrefill?: boolean;
  fail?: FakeFailure[];
}

export interface ToolCall {
  name: string;
  arguments: object;
}

/** Attempts at a round count from 1; the first round is 0. */
export type FakeFailure = { onAttempt: number; onRound: number } & (
  | { status: 429 | 500; retryAfterSeconds?: number }
  | { cutAfterChars: number }
  /** The stream stays silent until the client disconnects. */
  | { hangAfterChars: number }
  /** The answer ends as failed, where the vendor has a status for it. */
  | { endsFailed: true }
);

export interface FakeExchange {
  method: string;
  path: string;
  body: unknown;
  headers: IncomingMessage['headers'];
  status: number;
  /** The reason for the fake's refusal. */
  refusal: string | null;
  /** The text sent so far. */
  streamed: string;
  outcome: 'running' | 'complete' | 'closed' | 'failed';
}

/** A refusal in the vendor's format. */
export class Refusal extends Error {
  readonly status: number;
  readonly code: string | null;

  constructor(message: string, options: { status?: number; code?: string } = {}) {
    super(message);
    this.status = options.status ?? 400;
    this.code = options.code ?? null;
  }
}

/** The meaning of a valid request. */
export interface Asked {
  /** Completed tool rounds since the user's question. */
  round: number;
  /** Text of this answer that the model has already written. */
  prefix: string | null;
  /** Names of the tools that it may call now. */
  offers: string[];
  thinks: boolean;
}

/** Writes one answer as the vendor streams it. */
export interface WireWriter {
  begin(): void;
  reasoning(text: string): void;
  text(piece: string): void;
  call(name: string, args: object): void;
  fail?(): void;
  end(reason: 'stop' | 'tool_calls', usage: { input: number; output: number; reasoning: number }): void;
}

/** One vendor's wire format. An instance stores its signatures. */
export interface Vendor {
  /** The answer to a request other than a new call; undefined: it is a new call, or unknown. */
  other?(exchange: FakeExchange, response: ServerResponse): Promise<boolean>;
  /** Whether this is a new call. */
  accepts(method: string, path: string): boolean;
  read(exchange: FakeExchange, script: FakeScript): Asked;
  error(status: number, message: string, code: string | null): unknown;
  writer(exchange: FakeExchange, send: (event: string | null, data: unknown) => void): WireWriter;
}

export interface WireFake {
  /** Base URL without a path. */
  origin: string;
  requests: FakeExchange[];
  /** The refusals, in the vendor's format. */
  refusals(): string[];
  stop(): Promise<void>;
}

/** Starts a vendor on a free port of loopback. */
export async function startWireFake(vendor: Vendor, script: FakeScript): Promise<WireFake> {
  const requests: FakeExchange[] = [];
  const attempts = new Map<number, number>();
  const server = createServer((request, response) => {
    void answer({ vendor, script, requests, attempts }, request, response).catch((error: unknown) => {
      response.destroy(error instanceof Error ? error : undefined);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    requests,
    refusals: () => requests.flatMap(({ refusal }) => (refusal === null ? [] : [refusal])),
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

interface Fake {
  vendor: Vendor;
  script: FakeScript;
  requests: FakeExchange[];
  attempts: Map<number, number>;
}

async function answer(fake: Fake, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString('utf8');
  const exchange: FakeExchange = {
    method: request.method!,
    path: request.url!,
    body: text === '' ? null : JSON.parse(text),
    headers: request.headers,
    status: 200,
    refusal: null,
    streamed: '',
    outcome: 'running',
  };
  fake.requests.push(exchange);
  response.once('close', () => {
    if (exchange.outcome === 'running') exchange.outcome = 'closed';
  });
  try {
    if (await fake.vendor.other?.(exchange, response)) return;
    if (!fake.vendor.accepts(exchange.method, exchange.path))
      throw new Refusal('Not found.', { status: 404 });
    await play(fake, exchange, response);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    exchange.refusal = error.message;
    fail(fake.vendor, exchange, response, error);
  }
}

function fail(vendor: Vendor, exchange: FakeExchange, response: ServerResponse, error: Refusal): void {
  exchange.status = error.status;
  exchange.outcome = 'failed';
  response.writeHead(error.status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(vendor.error(error.status, error.message, error.code)));
}

async function play(
  { vendor, script, attempts }: Fake,
  exchange: FakeExchange,
  response: ServerResponse,
): Promise<void> {
  const asked = vendor.read(exchange, script);
  const attempt = (attempts.get(asked.round) ?? 0) + 1;
  attempts.set(asked.round, attempt);
  const failure = script.fail?.find((each) => each.onAttempt === attempt && each.onRound === asked.round);
  if (failure !== undefined && 'status' in failure) {
    if (failure.retryAfterSeconds !== undefined) {
      response.setHeader('retry-after', String(failure.retryAfterSeconds));
    }
    return fail(vendor, exchange, response, new Refusal('Scripted failure.', { status: failure.status }));
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const writer = vendor.writer(exchange, (event, data) => {
    const payload = typeof data === 'string' ? data : JSON.stringify(data);
    if (!response.destroyed)
      response.write(`${event === null ? '' : `event: ${event}\n`}data: ${payload}\n\n`);
  });
  writer.begin();
  if (asked.thinks && script.reasoning !== undefined)
    writer.reasoning(`${script.reasoning} (${asked.round})`);
  if (failure !== undefined && 'endsFailed' in failure) {
    writer.fail?.();
    exchange.outcome = 'failed';
    response.end();
    return;
  }
  const call = callIn(script, asked.round);
  if (call !== null && asked.offers.includes(call.name)) {
    writer.call(call.name, call.arguments);
    writer.end('tool_calls', { input: 100, output: 10, reasoning: 5 });
  } else {
    const rest = restOf(script.text, asked.prefix);
    for (const piece of splitPieces(rest, seedOf(rest))) {
      if (
        failure !== undefined &&
        'cutAfterChars' in failure &&
        exchange.streamed.length > failure.cutAfterChars
      ) {
        exchange.outcome = 'failed';
        response.destroy();
        // A background run continues without a listener.
        if (vendor.other === undefined) return;
      }
      if (
        failure !== undefined &&
        'hangAfterChars' in failure &&
        exchange.streamed.length > failure.hangAfterChars
      ) {
        if (!response.closed) await once(response, 'close');
        return;
      }
      if (script.tokenDelayMs !== undefined) await sleep(script.tokenDelayMs);
      writer.text(piece);
      exchange.streamed += piece;
    }
    writer.end('stop', { input: 100, output: 10, reasoning: 5 });
  }
  if (exchange.outcome === 'running') exchange.outcome = 'complete';
  response.end();
}

function callIn({ calls, toolRounds = 0, toolQuery = 'tides' }: FakeScript, round: number): ToolCall | null {
  if (calls !== undefined) return calls[round] ?? null;
  const query = `${toolQuery} ${round}`;
  return round < toolRounds ? { name: 'knowledge_search', arguments: { query } } : null;
}

/** A model continues from its own text; trailing white space may have been lost on the way. */
function restOf(text: string, prefix: string | null): string {
  return prefix !== null && text.startsWith(prefix) ? text.slice(prefix.length) : text;
}

/** Checks a body as strictly as the vendor. `words` makes the vendor's message of the first problem. */
export function strictly<T>(
  schema: ZodType<T>,
  body: unknown,
  words: (path: string, keys: string[] | null, message: string) => string,
): T {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0]!;
  const keys = issue.code === 'unrecognized_keys' ? issue.keys : null;
  const message = words(issue.path.join('.'), keys, issue.message);
  throw new Refusal(message, keys === null ? {} : { code: 'unknown_parameter' });
}

/** Whether the last user text asks the model to continue. */
export const asksToGoOn = (text: string): boolean => /\bcontinue\b/i.test(text) && /cut off/i.test(text);
