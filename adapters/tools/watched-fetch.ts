import type { FetchLike } from '@modelcontextprotocol/client';
import { EgressRefused } from '../egress/guarded-fetch.ts';

/** What happened on the wire during one operation, since the client's own errors do not tell. */
export interface Wire {
  /** The tool call's request may have left: a failure behind it leaves the outcome unknown. */
  sent: boolean;
  refusedByGuard: boolean;
  tooLarge: boolean;
  /** Of the call's own answer, or of the last one before the call. */
  status: number | null;
  called: boolean;
  bytesLeft: number;
}

export interface WatchOptions {
  fetch: typeof globalThis.fetch;
  headers: Record<string, string>;
  idempotencyKey: string | null;
  bytes: number;
}

/**
 * What failed before a connection stood: not a byte of the request has left. Codes do not tell, since a connection
 * in use may also end with ETIMEDOUT or EHOSTUNREACH.
 */
const beforeConnection = new Set(['connect', 'getaddrinfo']);

/** A fetch that adds our headers, counts what comes back after inflating, and knows whether the call has left. */
export function watchedFetch(options: WatchOptions): { fetch: FetchLike; wire: Wire } {
  const wire: Wire = {
    sent: false,
    refusedByGuard: false,
    tooLarge: false,
    status: null,
    called: false,
    bytesLeft: options.bytes,
  };
  const watched: FetchLike = async (url, init) => {
    const headers = new Headers(init?.headers);
    for (const [name, value] of Object.entries(options.headers)) {
      headers.set(name, value);
    }
    const isCall = options.idempotencyKey !== null && callsTool(init?.body);
    if (isCall) {
      headers.set('Idempotency-Key', options.idempotencyKey ?? '');
    }
    // Streams that a session opens beside the call say nothing about it.
    const counts = isCall || !wire.called;
    wire.called ||= isCall;
    wire.sent ||= isCall;
    if (counts) {
      wire.status = null;
    }
    let answer: Response;
    try {
      answer = await options.fetch(url, { ...init, headers: [...headers] });
    } catch (error) {
      wire.refusedByGuard ||= hasCause(error, (cause) => cause instanceof EgressRefused);
      if (isCall && hasCause(error, isNeverSent)) {
        wire.sent = false;
      }
      throw error;
    }
    if (counts) {
      wire.status = answer.status;
    }
    // A server that refuses a request has not acted on it; one that breaks in the middle may have.
    if (isCall && answer.status >= 400 && answer.status < 500) {
      wire.sent = false;
    }
    return limited(answer, wire);
  };
  return { fetch: watched, wire };
}

function callsTool(body: unknown): boolean {
  return typeof body === 'string' && (JSON.parse(body) as { method?: unknown }).method === 'tools/call';
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

function limited(answer: Response, wire: Wire): Response {
  if (answer.body === null) {
    return answer;
  }
  const counted = answer.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, controller) => {
        wire.bytesLeft -= chunk.byteLength;
        if (wire.bytesLeft < 0) {
          wire.tooLarge = true;
          controller.error(new Error('too large'));
          return;
        }
        controller.enqueue(chunk);
      },
    }),
  );
  return new Response(counted, {
    status: answer.status,
    statusText: answer.statusText,
    headers: [...answer.headers],
  });
}
