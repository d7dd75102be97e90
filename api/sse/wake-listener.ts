import { randomUUID } from 'node:crypto';
import type { Client, Notification } from 'pg';
import type { Logger } from 'pino';
import type { Database } from '#domain/foundation/persistence/database.ts';

const heartbeatMs = 500;
/** Interval without requests: often enough to detect that the connection is dead. */
const idleHeartbeatMs = 2_000;
const patienceMs = 3_000;

export interface WakeHandlers {
  /** A response's stream has events up to `n`. */
  onWake(responseId: string, n: number): void;
  /** Permissions or credentials of a tenant have changed. */
  onAccessChange(tenantId: string): void;
  /** The connection is up, or up again: notifications may have been missed. */
  onReconnect(): void;
  onLost(): void;
  /** Everything that was notified before `at`, of `performance.now()`, was received. */
  onBeat(at: number): void;
  /** True while no component depends on the heartbeat. */
  isIdle?(): boolean;
}

/** The gateway's one LISTEN connection. While it is down, `isUp` is false and readers poll. */
export class WakeListener {
  readonly #database: Database;
  readonly #handlers: WakeHandlers;
  readonly #logger: Logger;
  /** All connections that have not ended yet. */
  readonly #open = new Set<Client>();
  /** The connection that receives notifications. */
  #client: Client | null = null;
  #state: 'new' | 'up' | 'unreachable' | 'deaf' = 'new';
  /** Consecutive connections that received no notification. */
  #silentConnects = 0;
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

  /** Returns before the listener is up: no component depends on it until then. */
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
      this.#silentConnects = 0;
      this.#become('up');
    } catch (error) {
      const deaf = error instanceof NoNotification;
      this.#silentConnects = deaf ? this.#silentConnects + 1 : 0;
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
        'the wake listener connects but receives no notifications, as behind a pooler in transaction mode',
      );
    } else if (before !== 'new') {
      this.#logger.info('the wake listener receives notifications again');
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
      // Queried last and on this connection: a connection that has ended meanwhile must not count as up.
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
   * A pooler in transaction mode accepts LISTEN and delivers nothing. So a notification from another connection must
   * arrive, while this one is idle, before the listener counts as up.
   * @throws NoNotification, or another error where either connection failed
   */
  async #expectNotification(client: Client): Promise<void> {
    const proof = randomUUID();
    const { promise: notified, resolve, reject } = Promise.withResolvers<void>();
    // The promise may reject before it is awaited.
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
      late = setTimeout(() => reject(new NoNotification()), patienceMs);
      await notified;
    } finally {
      clearTimeout(late);
      client.off('notification', onMessage).off('end', end);
    }
  }

  /** Uses a connection of its own: a busy process has none free in its pool just when the listener must reconnect. */
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
      // A little less, since a timer may fire early.
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
        // The `end` event reports the failure.
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
      this.#retrying = setTimeout(() => void this.#comeUp(), retryAfterMs(this.#silentConnects)).unref();
    }
  }
}

class NoNotification extends Error {}

/** Soon where the database will come back; with backoff where only a changed configuration helps. */
export const retryAfterMs = (silentConnects: number): number => Math.min(250 * 2 ** silentConnects, 30_000);

const disconnect = (client: Client): void => void client.connection.stream.destroy();

/** A query with a timeout that ends the connection: a half-open connection never reports its failure. */
const soon = (text: string) => ({ text, answerWithinMs: patienceMs });
