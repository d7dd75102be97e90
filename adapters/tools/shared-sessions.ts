import { LRUCache } from 'lru-cache';
import { sha256 } from '#domain/foundation/kernel/canonical-json.ts';
import type { SharedSession, ToolServerSpec } from '#domain/capabilities/tools/tool-server.ts';

/** A session of a server of the earlier revision, which names it by a header. */
export interface ServerSession {
  id: string;
  protocolVersion: string | null;
  /** Of what it was opened with: with another address or credential it is not used. */
  bound: string;
}

/** How long a server that opened none is taken for one without sessions. */
const statelessMs = 300_000;

/** The same for whatever is done at one server with one credential for one principal, and for nothing else. */
export function bindingOf(server: ToolServerSpec, identity: unknown): string {
  return sha256(JSON.stringify([server, identity]));
}

/** Finds, opens and replaces the sessions that calls share. Calls that come at once open one. */
export class SharedSessions {
  readonly #opening = new Map<string, Promise<ServerSession | null>>();
  readonly #stateless = new LRUCache<string, true>({ max: 500, ttl: statelessMs });

  /**
   * @param lost an id that the server does not know any more
   * @returns null for a server without sessions
   */
  async acquire(
    shared: SharedSession,
    { bound, lost, open }: { bound: string; lost: string | null; open: () => Promise<ServerSession | null> },
  ): Promise<ServerSession | null> {
    const name = `${shared.name}\n${bound}`;
    for (let known = this.#opening.get(name); known !== undefined; known = this.#opening.get(name)) {
      const found = await known;
      // What another call has found may be the very one that is lost.
      if (lost === null || found?.id !== lost) {
        return found;
      }
    }
    const opening = this.#find(shared, { bound, lost, open }).finally(() => this.#opening.delete(name));
    this.#opening.set(name, opening);
    return opening;
  }

  async #find(
    shared: SharedSession,
    { bound, lost, open }: { bound: string; lost: string | null; open: () => Promise<ServerSession | null> },
  ): Promise<ServerSession | null> {
    if (this.#stateless.has(bound)) {
      return null;
    }
    const stored = parse(await shared.read());
    if (stored !== null && stored.bound === bound && stored.id !== lost) {
      return stored;
    }
    const opened = await open();
    if (opened === null) {
      this.#stateless.set(bound, true);
    } else {
      await shared.save(JSON.stringify(opened));
    }
    return opened;
  }
}

export function parse(stored: string | null): ServerSession | null {
  return stored === null ? null : (JSON.parse(stored) as ServerSession);
}
