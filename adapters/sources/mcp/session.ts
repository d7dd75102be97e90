import type { Client, RequestMethod } from '@modelcontextprotocol/client';
import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import { boundedFetch } from '../../egress/bounded-fetch.ts';
import { EndingTransport } from '../../tools/ending-transport.ts';
import { watchedFetch, type Wire } from '../../tools/watched-fetch.ts';
import type { SourceAccess } from '../provider.ts';
import { authorizationOf } from '../shared/authorization.ts';
import { Forbidden } from '../shared/http-failure.ts';
import { ScopeRequired } from '../shared/scope-required.ts';
import { createClient } from './client.ts';
import { failureOf, refusalOf, RequestRefused } from './failure.ts';
import { notingBreak } from './noting-break.ts';

const requestMs = 60_000;
/** Of one answer: the client parses it on the main thread. */
const maxAnswerBytes = 4 * 1_048_576;

interface Opened {
  client: Client;
  transport: EndingTransport;
  wire: Wire;
}

export interface Asking {
  signal: AbortSignal;
  /** No more is read of the answer. */
  maxBytes?: number;
}

/**
 * One session with a server, opened by its first request and opened again when the server has forgotten it. Requests
 * take turns, so that what is seen on the wire belongs to the request that fails.
 */
export class McpSession {
  readonly #url: URL;
  readonly #access: SourceAccess;
  #opened: Opened | null = null;
  #turn: Promise<unknown> = Promise.resolve();
  #maxBytes = maxAnswerBytes;
  /** Of the request that has its turn: the client does not pass it to all that it sends. */
  #signal: AbortSignal | null = null;
  #status = 0;
  #isBroken = false;
  /** What a status of 300 or above says; errors of the client carry the number at most. */
  #refusal: SourceFailure | null = null;

  constructor(url: string, access: SourceAccess) {
    this.#url = new URL(url);
    this.#access = access;
  }

  /** @throws SourceFailure, among them RequestRefused, or ProtocolError for an error that the server itself answers */
  request(method: RequestMethod, params: Record<string, unknown>, asking: Asking): Promise<unknown> {
    const made = this.#turn.then(async () => {
      const isResumed = this.#opened !== null;
      try {
        return await this.#attempt(method, params, asking);
      } catch (error) {
        // Without its session a server answers 404, the reference server 400.
        if (isResumed && this.#refusal !== null && (this.#status === 404 || this.#status === 400)) {
          return await this.#attempt(method, params, asking);
        }
        throw error;
      }
    });
    this.#turn = made.catch(() => undefined);
    return made;
  }

  async close(): Promise<void> {
    await this.#turn;
    const { client, transport } = this.#opened ?? {};
    this.#opened = null;
    this.#signal = null;
    await transport?.terminateSession().catch(() => undefined);
    await client?.close().catch(() => undefined);
  }

  async #attempt(method: RequestMethod, params: Record<string, unknown>, asking: Asking): Promise<unknown> {
    const { signal } = asking;
    signal.throwIfAborted();
    this.#maxBytes = maxAnswerBytes;
    const opened = this.#opened ?? this.#prepare();
    opened.wire.exceeded = null;
    this.#refusal = null;
    this.#isBroken = false;
    this.#signal = signal;
    const options = { signal, timeout: requestMs, maxTotalTimeout: requestMs };
    try {
      if (this.#opened === null) {
        await opened.client.connect(opened.transport, options);
        this.#opened = opened;
      }
      this.#maxBytes = Math.min(asking.maxBytes ?? maxAnswerBytes, maxAnswerBytes);
      return await opened.client.request({ method, params }, options);
    } catch (error) {
      const failure = failureOf(error, {
        wire: opened.wire,
        refusal: this.#refusal,
        isBroken: this.#isBroken,
        signal,
      });
      const isOpen = this.#opened !== null;
      if (isOpen && failure instanceof Forbidden && !(failure instanceof ScopeRequired)) {
        // The session goes on: what may not be read is one of many.
        throw new RequestRefused(failure.message);
      }
      if (failure instanceof SourceFailure) {
        this.#opened = null;
        void opened.client.close().catch(() => undefined);
      }
      throw failure;
    }
  }

  #prepare(): Opened {
    const fetch: typeof globalThis.fetch = (input, init) => this.#fetch(input, init);
    const watched = watchedFetch({ fetch, briefFetch: fetch, headers: {}, idempotencyKey: null });
    const client = createClient();
    const transport = new EndingTransport(this.#url, { fetch: watched.fetch });
    return { client, transport, wire: watched.rest };
  }

  async #fetch(...[input, init]: Parameters<typeof globalThis.fetch>): Promise<Response> {
    if (init?.method === 'GET') {
      // The stream on which a server speaks of its own accord: nothing that it could say is needed.
      return new Response(null, { status: 405 });
    }
    const limits = { maxBytes: this.#maxBytes, maxEventBytes: this.#maxBytes };
    const bounded = boundedFetch('tool_server', { fetch: this.#access.fetch, limits });
    const signals = [init?.signal, this.#signal].filter((signal) => signal != null);
    const headers = await this.#authorized(init?.headers);
    const answer = await bounded(input, { ...init, headers, signal: AbortSignal.any(signals) });
    this.#status = answer.status;
    this.#refusal = answer.status < 300 ? null : refusalOf(answer);
    return notingBreak(answer, () => {
      this.#isBroken = true;
    });
  }

  /** Read for each request: a session may outlive the token of a connection. */
  async #authorized(given: ConstructorParameters<typeof Headers>[0]): Promise<[string, string][]> {
    const headers = new Headers(given);
    try {
      for (const [name, value] of Object.entries(await authorizationOf(this.#access))) {
        headers.set(name, value);
      }
      return [...headers];
    } catch (error) {
      this.#status = 0;
      this.#refusal = error instanceof SourceFailure ? error : null;
      throw error;
    }
  }
}
