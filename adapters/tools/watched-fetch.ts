import { isJSONRPCRequest, type FetchLike } from '@modelcontextprotocol/client';
import { AnswerLimitExceeded } from '../egress/answer-limit-exceeded.ts';
import { EgressRefused } from '../egress/guarded-fetch.ts';
import { AnswerHead } from './answer-head.ts';

/** What happened on the wire with the call, or with all else that was asked: the client's own errors do not tell. */
export interface Wire {
  /** The request may have left, and may have been acted upon: a failure behind it leaves the outcome unknown. */
  sent: boolean;
  refusedByGuard: boolean;
  /** Of the last answer. */
  status: number | null;
  /** A refusal named how to ask for access. */
  challenged: boolean;
  /** An answer was cut off by us. */
  exceeded: AnswerLimitExceeded | null;
  /** What was being read then. */
  answering: 'result' | 'error' | null;
}

export interface WatchedFetch {
  fetch: FetchLike;
  call: Wire;
  /** Of everything else, such as streams that a session opens beside the call. */
  rest: Wire;
}

/**
 * What failed before a connection stood: not a byte of the request has left. Codes do not tell, since a connection
 * in use may also end with ETIMEDOUT or EHOSTUNREACH.
 */
const beforeConnection = new Set(['connect', 'getaddrinfo', 'queryA', 'queryAaaa']);

/**
 * Answers of a server that refused the request before it acted on it. Not among them: 408 and 499, which a proxy
 * says of a server that is still at work, and 409, which one says of a call that it has already.
 */
const refusals = new Set([
  400, 401, 402, 403, 404, 405, 406, 410, 411, 412, 413, 414, 415, 417, 421, 422, 425, 426, 428, 429, 431,
  451,
]);

/** A fetch that adds our headers, and knows whether the call has left and what became of it. */
export function watchedFetch(options: {
  /** For the call, and for the streams that are open beside it. */
  fetch: typeof globalThis.fetch;
  /** For everything else, whose answers are short. */
  briefFetch: typeof globalThis.fetch;
  headers: Record<string, string>;
  idempotencyKey: string | null;
}): WatchedFetch {
  const rest = newWire();
  const call = newWire();
  const listed: Share = { bytes: 0, max: maxListed };
  const watched: FetchLike = async (url, init) => {
    const headers = new Headers(init?.headers);
    for (const [name, value] of Object.entries(options.headers)) {
      headers.set(name, value);
    }
    const request = requestIn(init?.body);
    const wire = request?.method === 'tools/call' ? call : rest;
    if (wire === call) {
      headers.set('Idempotency-Key', options.idempotencyKey ?? '');
      call.sent = true;
    }
    wire.status = null;
    const mayLast = wire === call || init?.method === 'GET';
    let answer: Response;
    try {
      answer = await (mayLast ? options.fetch : options.briefFetch)(url, { ...init, headers: [...headers] });
    } catch (error) {
      wire.refusedByGuard ||= hasCause(error, (cause) => cause instanceof EgressRefused);
      wire.exceeded ??= AnswerLimitExceeded.in(error);
      wire.sent &&= !hasCause(error, isNeverSent);
      throw error;
    }
    wire.status = answer.status;
    wire.challenged = answer.headers.has('www-authenticate');
    wire.sent &&= !refusals.has(answer.status);
    return answer.status === 202 && request !== null
      ? withoutAnswer()
      : noting(answer, wire, request?.method === 'tools/list' ? listed : null);
  };
  return { fetch: watched, rest, call };
}

function newWire(): Wire {
  return {
    sent: false,
    refusedByGuard: false,
    status: null,
    challenged: false,
    exceeded: null,
    answering: null,
  };
}

/** The request that a body holds; null for a notification and for what is no message. */
function requestIn(body: unknown): { method: string } | null {
  const message: unknown = typeof body === 'string' ? JSON.parse(body) : null;
  return isJSONRPCRequest(message) ? message : null;
}

/** A request that was merely accepted has no answer to wait for: as a stream of events that ends at once. */
function withoutAnswer(): Response {
  return new Response('', { headers: { 'content-type': 'text/event-stream' } });
}

function isNeverSent(error: Error): boolean {
  return (
    error instanceof EgressRefused ||
    ('code' in error && error.code === 'UND_ERR_CONNECT_TIMEOUT') ||
    ('syscall' in error && beforeConnection.has(String(error.syscall)))
  );
}

function hasCause(error: unknown, holds: (error: Error) => boolean): boolean {
  if (!(error instanceof Error)) {
    return false;
  }
  const inner = error instanceof AggregateError ? (error.errors as unknown[]) : [];
  return holds(error) || hasCause(error.cause, holds) || inner.some((each) => hasCause(each, holds));
}

/** Of all pages of a list of tools together; see `answerLimits` for what one answer may hold. */
const maxListed = 4 * 1_048_576;

/** What several answers have together. */
interface Share {
  bytes: number;
  max: number;
}

/** The client hands on no cause of what breaks its stream: it is noted here. */
function noting(answer: Response, wire: Wire, share: Share | null): Response {
  if (answer.body === null) {
    return answer;
  }
  const reader = answer.body.getReader();
  const head = new AnswerHead();
  const noted = new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        try {
          const { value } = await reader.read();
          if (value === undefined) {
            controller.close();
            return;
          }
          if (share !== null && (share.bytes += value.byteLength) > share.max) {
            const exceeded = new AnswerLimitExceeded('bytes');
            await reader.cancel(exceeded);
            throw exceeded;
          }
          head.read(value);
          controller.enqueue(value);
        } catch (error) {
          wire.exceeded ??= AnswerLimitExceeded.in(error);
          wire.answering = head.kind;
          throw error;
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
  return new Response(noted, {
    status: answer.status,
    statusText: answer.statusText,
    headers: [...answer.headers],
  });
}
