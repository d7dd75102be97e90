import { AsyncLocalStorage } from 'node:async_hooks';
import type { HolderIdentity } from '#domain/capabilities/connections/find-connection.ts';
import {
  ConnectionUnavailable,
  type ConnectionSource,
  type UsableConnection,
} from '#domain/capabilities/connections/connection-source.ts';
import { SourceFailure, type Source, type WatchInput } from '#domain/knowledge/connectors/source.ts';
import type { DpopSessions } from '../authorization/dpop-sessions.ts';
import { Forbidden } from './shared/http-failure.ts';
import { ScopeRequired } from './shared/scope-required.ts';

/** The tokens of the account that is connected to a source, or to its tool server, for as long as it is open. */
export class ConnectedAccount {
  readonly #connections: ConnectionSource;
  readonly #identity: HolderIdentity;
  /** The token that a piece of work has used last: others may be at work with another one at the same time. */
  readonly #work = new AsyncLocalStorage<{ used: UsableConnection | null }>();
  /** The same of work that is not repeated. */
  #last: UsableConnection | null = null;

  constructor(connections: ConnectionSource, identity: HolderIdentity) {
    this.#connections = connections;
    this.#identity = identity;
  }

  /** The present token; each request reads it, so that a withdrawal and a refresh take effect at once. */
  async token(): Promise<string> {
    const usable = required(await available(() => this.#connections.read(this.#identity)));
    const work = this.#work.getStore();
    if (work !== undefined) {
      work.used = usable;
    }
    this.#last = usable;
    return usable.accessToken;
  }

  /** A fetch that proves possession of the key that the token of a request is bound to, where it is bound to one (RFC 9449). */
  proving(fetch: typeof globalThis.fetch, proofs: DpopSessions): typeof globalThis.fetch {
    return (input, init) => {
      const { accessToken = '', dpopKey = null } = this.#work.getStore()?.used ?? this.#last ?? {};
      const isSent = new Headers(init?.headers).get('authorization') === `Bearer ${accessToken}`;
      return dpopKey === null || !isSent || input instanceof Request
        ? fetch(input, init)
        : proofs.fetch(fetch, { accessToken, dpopKey })(input, init);
    };
  }

  /**
   * Does the work again, once, with a refreshed token when the source refused that of the connection. Where the source
   * refuses that one, too, the connection ends. What the account may not read ends no connection.
   */
  async renewing<T>(work: () => Promise<T>): Promise<T> {
    const first: { used: UsableConnection | null } = { used: null };
    try {
      return await this.#work.run(first, work);
    } catch (error) {
      const refused = first.used;
      if (error instanceof ScopeRequired && refused !== null) {
        await this.#connections.needScope(this.#identity, refused, error.scope);
      }
      if (!isRefusal(error) || refused === null) {
        throw error;
      }
      // Of several requests that are refused at once only the first has the token refreshed.
      const renewed = required(await available(() => this.#connections.renew(this.#identity, refused)));
      try {
        return await work();
      } catch (again) {
        if (isRefusal(again)) {
          await this.#connections.refuse(this.#identity, renewed);
        }
        throw again;
      }
    }
  }
}

/** A source whose requests are repeated once with a refreshed token: all of them only read. */
export function connectedSource(source: Source, account: ConnectedAccount): Source {
  const prepare = source.prepare?.bind(source);
  const groups = source.groups?.bind(source);
  const watch = source.watch?.bind(source);
  return {
    check: (signal) => account.renewing(() => source.check(signal)),
    list: (input, signal) => account.renewing(() => source.list(input, signal)),
    fetch: (input, signal) => account.renewing(() => source.fetch(input, signal)),
    exists: (ref, signal) => account.renewing(() => source.exists(ref, signal)),
    ...(prepare === undefined
      ? {}
      : {
          prepare: (refs: readonly string[], signal: AbortSignal) =>
            account.renewing(() => prepare(refs, signal)),
        }),
    ...(groups === undefined
      ? {}
      : {
          groups: (cursor: string | null, signal: AbortSignal) =>
            account.renewing(() => groups(cursor, signal)),
        }),
    ...(watch === undefined
      ? {}
      : {
          watch: (input: WatchInput, signal: AbortSignal) => account.renewing(() => watch(input, signal)),
        }),
    close: async () => source.close?.(),
  };
}

function isRefusal(error: unknown): boolean {
  return error instanceof SourceFailure && error.code === 'auth_failed' && !(error instanceof Forbidden);
}

function required(usable: UsableConnection | null): UsableConnection {
  if (usable === null) {
    throw new SourceFailure('auth_failed', 'No account is connected: somebody has to connect one.');
  }
  return usable;
}

async function available<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof ConnectionUnavailable
      ? new SourceFailure('source_unreachable', 'The authorization server of the source does not answer.')
      : error;
  }
}
