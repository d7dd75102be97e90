import { LRUCache } from 'lru-cache';
import { sha256 } from '#domain/foundation/kernel/canonical-json.ts';
import type { SharedSession, ToolServerSpec } from '#domain/capabilities/tools/tool-server.ts';

/** A session of a server of the earlier protocol revision, identified by a header. */
export interface ServerSession {
  id: string;
  protocolVersion: string | null;
  /** Binding with which the session was opened: another address or credential does not use it. */
  bound: string;
}

/** How long a server that opened no session is treated as stateless. */
const statelessMs = 300_000;

/** Cache key of one server, credential and principal. */
export function bindingOf(server: ToolServerSpec, identity: unknown): string {
  return sha256(JSON.stringify([server, identity]));
}

/** Finds, opens and replaces the sessions that calls share. Concurrent calls open one session. */
export class SharedSessions {
  readonly #opening = new Map<string, Promise<ServerSession | null>>();
  readonly #stateless = new LRUCache<string, true>({ max: 500, ttl: statelessMs });

  /** @param lost an id that the server no longer knows @returns null for a stateless server */
  async acquire(
    shared: SharedSession,
    { bound, lost, open }: { bound: string; lost: string | null; open: () => Promise<ServerSession | null> },
  ): Promise<ServerSession | null> {
    const name = `${shared.name}\n${bound}`;
    for (let known = this.#opening.get(name); known !== undefined; known = this.#opening.get(name)) {
      const found = await known;
      // The session that another call stored may be the lost one.
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
