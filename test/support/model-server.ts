import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { checkScript, splitPieces, seedOf } from './model-script.ts';
import type { Failure, Script, Source, Usage } from './model-script.ts';
import { planTurn, readAsked } from './model-turn.ts';
import type { Strategy, Turn } from './model-turn.ts';
import { parseChatRequest, textOf, WireError } from './model-wire.ts';
import type { ChatRequest } from './model-wire.ts';

/** One request and how it was answered; it grows while the answer streams. */
export interface RequestRecord {
  /** 0 for the first request since start or reset. */
  n: number;
  /** Milliseconds since the epoch. */
  at: number;
  status: number;
  /** The parsed body, null where it could not be read. */
  body: ChatRequest | null;
  script: string | null;
  strategy: Strategy | null;
  prefix: string | null;
  conversation: string | null;
  /** From 1, per conversation. */
  attempt: number;
  round: number;
  source: Source | null;
  from: number;
  streamed: string;
  toolCallId: string | null;
  /** `running` until the answer ended; `closed` when the client left first, `failed` when the script says so. */
  outcome: 'running' | 'complete' | 'closed' | 'failed' | 'refused';
  error: string | null;
}

export interface ModelServerOptions {
  /** 0, the default, takes a free port. */
  port?: number;
  /** The bearer token that every request to `/v1` must carry; any is accepted without it. */
  apiKey?: string;
}

export interface ModelServer {
  /** Base URL for a client, `/v1` included. */
  url: string;
  port: number;
  requests: RequestRecord[];
  scriptOf(name: string): Script;
  reset(): void;
  stop(): Promise<void>;
}

/** Starts a server on loopback that streams scripted chat completions in the vendor's wire format. */
export async function startModelServer(
  scripts: Script[],
  options: ModelServerOptions = {},
): Promise<ModelServer> {
  const byName = new Map(scripts.map((script) => [script.name, checkScript(script)]));
  const requests: RequestRecord[] = [];
  const reset = () => void requests.splice(0);
  const scriptOf = (name: string): Script => {
    const script = byName.get(name);
    if (script !== undefined) return script;
    throw new WireError(404, `The model '${name}' does not exist.`, {
      code: 'model_not_found',
      param: 'model',
    });
  };
  const context = { scripts: byName, scriptOf, requests, reset, apiKey: options.apiKey };
  const server = createServer((request, response) => {
    void handle(context, request, response).catch((error: unknown) => sendError(response, error));
  });
  server.listen(options.port ?? 0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const stop = async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  return { url: `http://127.0.0.1:${port}/v1`, port, requests, scriptOf, reset, stop };
}

interface Context {
  scripts: Map<string, Script>;
  scriptOf(name: string): Script;
  requests: RequestRecord[];
  reset(): void;
  apiKey: string | undefined;
}

async function handle(context: Context, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const route = `${request.method} ${request.url?.split('?')[0]}`;
  if (route === 'GET /__requests') return sendJson(response, 200, context.requests);
  if (route === 'POST /__reset') {
    context.reset();
    return sendJson(response, 200, {});
  }
  if (context.apiKey !== undefined && request.headers.authorization !== `Bearer ${context.apiKey}`) {
    throw new WireError(401, 'Incorrect API key provided.', { code: 'invalid_api_key' });
  }
  if (route === 'GET /v1/models') {
    const data = [...context.scripts.keys()].map((id) => ({
      id,
      object: 'model',
      created: 0,
      owned_by: 'scripts',
    }));
    return sendJson(response, 200, { object: 'list', data });
  }
  if (route !== 'POST /v1/chat/completions') throw new WireError(404, `Unknown request URL: ${route}.`);
  return complete(context, request, response);
}

async function complete(context: Context, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const record = newRecord(context.requests.length);
  context.requests.push(record);
  response.once('close', () => {
    if (record.outcome === 'running') record.outcome = 'closed';
  });
  try {
    record.body = parseChatRequest(await readBody(request));
    const asked = readAsked(record.body);
    const attempt = 1 + context.requests.filter((each) => each.conversation === asked.conversation).length;
    const { scriptName, strategy, prefix, conversation, round } = asked;
    Object.assign(record, { script: scriptName, strategy, prefix, conversation, round, attempt });
    const script = context.scriptOf(scriptName);
    const failure = script.fail?.find(
      ({ onAttempt = attempt, onRound = round }) => onAttempt === attempt && onRound === round,
    );
    if (failure !== undefined && 'status' in failure) return answerFailure(response, record, failure);
    if (failure !== undefined && 'hang' in failure) return;
    const turn = planTurn(script, record.body, { ...asked, attempt });
    Object.assign(record, { source: turn.source, from: turn.from, toolCallId: turn.calls[0]?.id ?? null });
    await streamTurn({ script, turn, failure, record, body: record.body, response });
  } catch (error) {
    record.outcome = 'refused';
    record.status = error instanceof WireError ? error.status : 500;
    record.error = error instanceof Error ? error.message : String(error);
    throw error;
  }
}

function newRecord(n: number): RequestRecord {
  const unread = {
    body: null,
    script: null,
    strategy: null,
    prefix: null,
    conversation: null,
    attempt: 0,
    round: 0,
  };
  const unanswered = {
    source: null,
    from: 0,
    streamed: '',
    toolCallId: null,
    outcome: 'running',
    error: null,
  } as const;
  return { n, at: Date.now(), status: 200, ...unread, ...unanswered };
}

function answerFailure(
  response: ServerResponse,
  record: RequestRecord,
  failure: Extract<Failure, { status: number }>,
): void {
  const { status, retryAfterSeconds, code } = failure;
  const type = status === 429 ? 'rate_limit_error' : status >= 500 ? 'server_error' : 'invalid_request_error';
  const error = new WireError(status, failure.message ?? `Scripted failure ${status}.`, {
    type,
    ...(code && { code }),
  });
  Object.assign(record, { status, outcome: 'failed', error: error.message });
  if (retryAfterSeconds !== undefined) response.setHeader('retry-after', String(retryAfterSeconds));
  sendJson(response, status, error.body);
}

interface Streaming {
  script: Script;
  turn: Turn;
  failure: Exclude<Failure, { status: number } | { hang: true }> | undefined;
  record: RequestRecord;
  body: ChatRequest;
  response: ServerResponse;
}

async function streamTurn(streaming: Streaming): Promise<void> {
  const { script, turn, record, body, response } = streaming;
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
  });
  const send = (data: unknown) => response.write(`data: ${JSON.stringify(data)}\n\n`);
  const common = {
    id: `chatcmpl-${record.conversation}${record.attempt}`,
    object: 'chat.completion.chunk',
    created: Math.floor(record.at / 1000),
    model: body.model,
    system_fingerprint: 'fp_scripted',
  };
  const withUsage = body.stream_options?.include_usage === true;
  const delta = (content: object, finish: string | null = null) =>
    send({
      ...common,
      choices: [{ index: 0, delta: content, logprobs: null, finish_reason: finish }],
      ...(withUsage && { usage: null }),
    });

  const limit = 4 * (body.max_completion_tokens ?? body.max_tokens ?? Infinity);
  const text = turn.text.slice(0, limit);
  const seed = (script.seed ?? seedOf(script.name)) + record.attempt;
  delta({ role: 'assistant', content: turn.calls.length === 0 || text !== '' ? '' : null, refusal: null });
  for (const piece of splitPieces(text, seed)) {
    if (await interrupt(streaming, record.streamed.length + piece.length)) return;
    if (script.tokenDelayMs !== undefined) await sleep(script.tokenDelayMs);
    if (response.destroyed) return;
    delta({ content: piece });
    record.streamed += piece;
  }
  if (await interrupt(streaming, Infinity)) return;
  turn.calls.forEach(({ id, name, arguments: json }, index) => {
    delta({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] });
    for (const piece of splitPieces(json, seed))
      delta({ tool_calls: [{ index, function: { arguments: piece } }] });
  });
  const cut = text.length < turn.text.length;
  delta({}, cut ? 'length' : turn.calls.length > 0 ? 'tool_calls' : (script.finishReason ?? 'stop'));
  if (withUsage) send({ ...common, choices: [], usage: usageOf(streaming) });
  record.outcome = 'complete';
  response.end('data: [DONE]\n\n');
}

/** Plays the scripted failure once `next` characters would pass its mark; true when the stream is over. */
async function interrupt({ failure, record, response }: Streaming, next: number): Promise<boolean> {
  if (failure === undefined) return false;
  const mark = Object.entries(failure).find(([key]) => key.endsWith('AfterChars'))![1];
  if (next <= mark) return false;
  if ('hangAfterChars' in failure) return true;
  record.outcome = 'failed';
  if ('errorAfterChars' in failure) {
    const error = new WireError(500, 'The server had an error while processing your request.', {
      type: 'server_error',
    });
    response.end(`data: ${JSON.stringify(error.body)}\n\n`);
    return true;
  }
  // Written data must leave, and be read, before the socket is reset, or the mark would mean nothing: a reset
  // discards the reader's queued data.
  await new Promise((sent) => response.write('', sent));
  await sleep(50);
  response.destroy();
  return true;
}

function usageOf({ script, turn, record, body }: Streaming): object {
  const estimate = (characters: number) => Math.ceil(characters / 4);
  const spoken = record.streamed.length + turn.calls.reduce((sum, call) => sum + call.arguments.length, 0);
  const received = body.messages.reduce((sum, each) => sum + textOf(each).length, 0);
  const usage: Usage = script.usage ?? {
    prompt_tokens: estimate(received),
    completion_tokens: estimate(spoken),
  };
  return {
    ...usage,
    total_tokens: usage.prompt_tokens + usage.completion_tokens,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0 },
  };
}

async function readBody(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString('utf8');
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

function sendError(response: ServerResponse, error: unknown): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  const wire =
    error instanceof WireError ? error : new WireError(500, String(error), { type: 'server_error' });
  sendJson(response, wire.status, wire.body);
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { port: { type: 'string' }, scripts: { type: 'string' }, 'api-key': { type: 'string' } },
  });
  const scripts = JSON.parse(readFileSync(values.scripts ?? '/dev/stdin', 'utf8')) as Script[];
  const apiKey = values['api-key'];
  const server = await startModelServer(scripts, {
    port: Number(values.port ?? 0),
    ...(apiKey && { apiKey }),
  });
  console.log(JSON.stringify({ url: server.url, port: server.port }));
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void server.stop());
}
