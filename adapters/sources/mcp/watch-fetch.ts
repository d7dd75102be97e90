import type { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import { boundedFetch } from '../../egress/bounded-fetch.ts';
import type { SourceAccess } from '../provider.ts';
import { refusalOf } from './failure.ts';
import { OpenAnswers } from './open-answers.ts';
import { pacedBody } from './paced-body.ts';

/**
 * Of one answer beside the stream. The client dispatches the notifications in it, too, and it is not read at a pace: so
 * it may hold few.
 */
const briefLimits = { maxBytes: 65_536, maxEventBytes: 65_536, maxEvents: 16, totalMs: 30_000 };
const goodbyeMs = 5_000;

/**
 * The requests of a watch: short ones, and one stream of changes, which is the answer to GET in the earlier revision of
 * the protocol, and to `subscriptions/listen` in the later one.
 */
export class WatchFetch {
  readonly #access: SourceAccess;
  readonly #signal: AbortSignal;
  readonly #opening = Promise.withResolvers<boolean>();
  readonly #ending = Promise.withResolvers<void>();
  readonly #brief: typeof globalThis.fetch;
  readonly #answers = new OpenAnswers();
  #isOpened = false;
  /** What the status of the last answer says, if it is an error. */
  refusal: SourceFailure | null = null;

  constructor(access: SourceAccess, signal: AbortSignal) {
    this.#access = access;
    this.#signal = signal;
    this.#brief = boundedFetch('tool_server', { fetch: access.fetch, limits: briefLimits });
    signal.addEventListener('abort', () => this.#answers.end(), { once: true });
    // A watch may fail before it waits for its stream.
    this.#opening.promise.catch(() => undefined);
  }

  /** Resolves when the server has answered GET: whether it has a stream. @throws SourceFailure */
  get opened(): Promise<boolean> {
    return this.#opening.promise;
  }

  /** Resolves when the stream has ended. */
  get ended(): Promise<void> {
    return this.#ending.promise;
  }

  async fetch(...[input, init]: Parameters<typeof globalThis.fetch>): Promise<Response> {
    const isGet = init?.method === 'GET';
    if (isGet && (this.#isOpened || new Headers(init.headers).has('last-event-id'))) {
      // A stream that has ended is not resumed: a new watch begins.
      return new Response(null, { status: 405 });
    }
    this.#isOpened ||= isGet;
    const isStream = isGet || isListen(init?.body);
    // The session is ended after the watch.
    const bound = init?.method === 'DELETE' ? AbortSignal.timeout(goodbyeMs) : this.#signal;
    const signal = init?.signal ? AbortSignal.any([init.signal, bound]) : bound;
    const fetch = isStream ? this.#access.stream : this.#brief;
    try {
      const answer = await fetch(input, { ...init, signal });
      return isGet ? this.#begun(answer) : this.#answered(answer, isStream);
    } catch (error) {
      if (isGet) {
        this.#opening.reject(error);
      }
      throw error;
    }
  }

  #answered(answer: Response, isStream: boolean): Response {
    this.refusal = answer.status < 300 ? null : refusalOf(answer);
    return isStream ? pacedBody(answer, this.#signal, this.#ending.resolve) : this.#answers.hold(answer);
  }

  #begun(answer: Response): Response {
    if (answer.ok && answer.headers.get('content-type')?.startsWith('text/event-stream') === true) {
      this.#opening.resolve(true);
      return pacedBody(answer, this.#signal, this.#ending.resolve);
    }
    void answer.body?.cancel().catch(() => undefined);
    if (isTransient(answer.status)) {
      this.#opening.reject(refusalOf(answer));
    } else {
      this.#opening.resolve(false);
    }
    return new Response(null, { status: 405 });
  }
}

/** A refusal of the stream that does not mean that there is none. */
function isTransient(status: number): boolean {
  return status >= 500 ? status !== 501 : [401, 403, 407, 408, 429].includes(status);
}

function isListen(body: unknown): boolean {
  const message: unknown = typeof body === 'string' ? JSON.parse(body) : null;
  return (message as { method?: unknown } | null)?.method === 'subscriptions/listen';
}
