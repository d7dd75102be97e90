import { isJSONRPCRequest, type FetchLike } from '@modelcontextprotocol/client';
import { challengeIn } from '../authorization/challenge.ts';
import { AnswerLimitExceeded } from '../egress/answer-limit-exceeded.ts';
import { EgressRefused } from '../egress/public-address.ts';
import { hasCause } from '../egress/has-cause.ts';
import type { ServerChallenge } from '#domain/capabilities/tools/server-status.ts';
import { isNeverSent } from '../egress/is-never-sent.ts';
import { AnswerHead } from './answer-head.ts';

/** What happened on the wire with the call, or with all other requests: the client's own errors do not say. */
export interface Wire {
  /** The request may have been sent, and may have taken effect: a later failure leaves the outcome unknown. */
  sent: boolean;
  refusedByGuard: boolean;
  /** Status of the last answer. */
  status: number | null;
  /** A refusal carried a `WWW-Authenticate` challenge. */
  challenged: boolean;
  /** The challenge, where it is one of OAuth. */
  challenge: ServerChallenge | null;
  /** The limit that cut an answer off. */
  exceeded: AnswerLimitExceeded | null;
  /** Kind of the message that was being read when its stream failed. */
  answering: 'result' | 'error' | null;
}

export interface WatchedFetch {
  fetch: FetchLike;
  call: Wire;
  /** All other requests, such as streams that a session opens beside the call. */
  rest: Wire;
}

/**
 * Statuses of a server that refused the request before it acted on it. Not included: 408 and 499, which a proxy sends
 * while its server is still running, and 409, which may mean that the call was received already.
 */
const refusals = new Set([
  400, 401, 402, 403, 404, 405, 406, 410, 411, 412, 413, 414, 415, 417, 421, 422, 425, 426, 428, 429, 431,
  451,
]);

/** A fetch that adds headers, and records whether the call was sent and how it ended. */
export function watchedFetch(options: {
  /** For the call, and for the streams that are open beside it. */
  fetch: FetchLike;
  /** For all other requests, whose answers are short. */
  briefFetch: FetchLike;
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
    wire.challenge = challengeIn(answer.headers);
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
    challenge: null,
    exceeded: null,
    answering: null,
  };
}

/** The JSON-RPC request in a body; null for a notification and for any other body. */
function requestIn(body: unknown): { method: string } | null {
  const message: unknown = typeof body === 'string' ? JSON.parse(body) : null;
  return isJSONRPCRequest(message) ? message : null;
}

/** Answers a request with status 202, which has no answer to wait for, as an event stream that ends at once. */
function withoutAnswer(): Response {
  return new Response('', { headers: { 'content-type': 'text/event-stream' } });
}

/** Max bytes of all pages of a tool list together; see `answerLimits` for the limit of one answer. */
const maxListed = 4 * 1_048_576;

/** Bytes that several answers share. */
interface Share {
  bytes: number;
  max: number;
}

/** The client drops the cause of a broken stream: it is recorded here. */
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
