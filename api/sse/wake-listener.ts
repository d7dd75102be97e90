import { randomUUID } from 'node:crypto';
import type { Client, Notification } from 'pg';
import type { Logger } from 'pino';
import type { Database } from '#domain/foundation/persistence/database.ts';

const heartbeatMs = 500;
/** While nobody asks anything of this process: often enough to find out that the connection is dead. */
const idleHeartbeatMs = 2_000;
const patienceMs = 3_000;

export interface WakeHandlers {
  /** A response's stream has events up to `n`. */
  onWake(responseId: string, n: number): void;
  /** Rights or credentials of a tenant have changed. */
  onAccessChange(tenantId: string): void;
  /** The connection is there, or there again: anything may have been missed. */
  onReconnect(): void;
  onLost(): void;
  /** Everything that was notified before `at`, of `performance.now()`, has been heard. */
  onBeat(at: number): void;
  /** Nobody needs to know how far it has heard. */
  isIdle?(): boolean;
}

/** The gateway's one LISTEN connection. While it is down, `isUp` is false and readers poll. */
export class WakeListener {
  readonly #database: Database;
  readonly #handlers: WakeHandlers;
  readonly #logger: Logger;
  /** Every connection that has not ended yet. */
  readonly #open = new Set<Client>();
  /** The one that hears. */
  #client: Client | null = null;
  #state: 'new' | 'up' | 'unreachable' | 'deaf' = 'new';
  /** How often in a row it connected and heard nothing. */
  #deafTimes = 0;
  #retrying: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(database: Database, handlers: WakeHandlers, logger: Logger) {
    this.#database = database;
    this.#handlers = handlers;
    this.#logger = logger;
  }

  get isUp(): boolean {
    return this.#client !== null;
  }

  /** Returns before it is up: nobody relies on it until it is. */
  start(): void {
    void this.#comeUp();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#retrying);
    for (const client of this.#open) {
      if (client !== this.#client) {
        disconnect(client);
      }
    }
    await this.#client?.end().catch(() => undefined);
  }

  async #comeUp(): Promise<void> {
    try {
      await this.#connect();
      this.#deafTimes = 0;
      this.#become('up');
    } catch (error) {
      const deaf = error instanceof HearsNothing;
      this.#deafTimes = deaf ? this.#deafTimes + 1 : 0;
      this.#become(deaf ? 'deaf' : 'unreachable');
      this.#retry();
    }
  }

  #become(state: 'up' | 'unreachable' | 'deaf'): void {
    const before = this.#state;
    this.#state = state;
    if (state === before || this.#stopped) {
      return;
    }
    if (state === 'unreachable') {
      this.#logger.warn('the wake listener cannot connect');
    } else if (state === 'deaf') {
      this.#logger.warn(
        'the wake listener connects and hears nothing, as behind a pooler in transaction mode',
      );
    } else if (before !== 'new') {
      this.#logger.info('the wake listener hears again');
    }
  }

  #newClient(): Client {
    const client = this.#database.newClient();
    client.once('end', () => this.#open.delete(client));
    this.#open.add(client);
    return client;
  }

  async #connect(): Promise<void> {
    const client = this.#newClient();
    client.on('notification', ({ channel, payload }) => {
      if (channel === 'wake') {
        for (const pair of (payload ?? '').split(' ')) {
          const [responseId, n] = pair.split(':');
          if (responseId !== undefined && n !== undefined) {
            this.#handlers.onWake(responseId, Number(n));
          }
        }
      } else {
        this.#handlers.onAccessChange(payload ?? '');
      }
    });
    client.once('end', () => {
      if (this.#client === client) {
        this.#client = null;
        this.#handlers.onLost();
        this.#retry();
      }
    });
    try {
      await client.connect();
      await client.query(soon('listen wake'));
      await this.#expectNotification(client);
      // Asked of this connection, and last: one that has ended meanwhile is not taken as being up.
      await client.query(soon('listen access'));
    } catch (error) {
      disconnect(client);
      throw error;
    }
    if (this.#stopped) {
      return;
    }
    this.#client = client;
    this.#watch(client);
    this.#handlers.onReconnect();
  }

  /**
   * A pooler that lends its connections for a transaction each lets LISTEN succeed and delivers nothing. So what another
   * connection notifies has to arrive, while this one asks for nothing, before it is believed to hear.
   * @throws HearsNothing, or anything else where the connection or the other one failed
   */
  async #expectNotification(client: Client): Promise<void> {
    const proof = randomUUID();
    const { promise: notified, resolve, reject } = Promise.withResolvers<void>();
    // It may end before it is waited for.
    notified.catch(() => undefined);
    const onMessage = ({ payload }: Notification) => {
      if (payload === proof) {
        resolve();
      }
    };
    const end = () => reject(new Error('The connection has ended.'));
    client.on('notification', onMessage).once('end', end);
    let late: NodeJS.Timeout | undefined;
    try {
      await this.#notify(proof);
      late = setTimeout(() => reject(new HearsNothing()), patienceMs);
      await notified;
    } finally {
      clearTimeout(late);
      client.off('notification', onMessage).off('end', end);
    }
  }

  /** By a connection of its own: those of the pool are all taken just when a busy process has to hear again. */
  async #notify(proof: string): Promise<void> {
    const client = this.#newClient();
    try {
      await client.connect();
      await client.query(soon(`select pg_notify('wake', $1)`), [proof]);
    } finally {
      client.end().catch(() => undefined);
    }
  }

  #watch(client: Client): void {
    let asking = false;
    let askedAt = -Infinity;
    const beat = async () => {
      // A little less, since a timer may come early.
      const rests =
        this.#handlers.isIdle?.() === true && performance.now() - askedAt < idleHeartbeatMs - heartbeatMs / 2;
      if (asking || rests) {
        return;
      }
      asking = true;
      askedAt = performance.now();
      try {
        await client.query(soon('select 1'));
        this.#handlers.onBeat(askedAt);
      } catch {
        // Its end is told by itself.
      } finally {
        asking = false;
      }
    };
    void beat();
    const timer = setInterval(() => void beat(), heartbeatMs);
    client.once('end', () => clearInterval(timer));
  }

  #retry(): void {
    if (!this.#stopped) {
      this.#retrying = setTimeout(() => void this.#comeUp(), retryAfterMs(this.#deafTimes)).unref();
    }
  }
}

class HearsNothing extends Error {}

/** At once where a database is to come back; ever later where only somebody's settings can help. */
export const retryAfterMs = (deafTimes: number): number => Math.min(250 * 2 ** deafTimes, 30_000);

const disconnect = (client: Client): void => void client.connection.stream.destroy();

/** A connection that does not answer in time is ended: a half-open one would never say so. */
const soon = (text: string) => ({ text, answerWithinMs: patienceMs });
