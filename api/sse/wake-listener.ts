import { randomUUID } from 'node:crypto';
import type { Client } from 'pg';
import type { Logger } from 'pino';
import type { Database } from '#domain/persistence/database.ts';

const heartbeatMs = 500;
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
}

/** The gateway's one LISTEN connection. While it is down, `isUp` is false and readers poll. */
export class WakeListener {
  readonly #database: Database;
  readonly #handlers: WakeHandlers;
  readonly #logger: Logger;
  #client: Client | null = null;
  #stopped = false;

  constructor(database: Database, handlers: WakeHandlers, logger: Logger) {
    this.#database = database;
    this.#handlers = handlers;
    this.#logger = logger;
  }

  get isUp(): boolean {
    return this.#client !== null;
  }

  async start(): Promise<void> {
    await this.#connect().catch(() => this.#retry());
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#client?.end().catch(() => undefined);
  }

  async #connect(): Promise<void> {
    const client = this.#database.newClient();
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
    client.on('error', () => undefined);
    client.on('end', () => {
      if (this.#client === client) {
        this.#client = null;
        this.#handlers.onLost();
        this.#retry();
      }
    });
    await client.connect();
    await client.query('listen wake');
    await client.query('listen access');
    await this.#expectToHear(client).catch((error: unknown) => {
      client.connection.stream.destroy();
      throw error;
    });
    this.#client = client;
    this.#watch(client);
    this.#handlers.onReconnect();
  }

  /**
   * A pooler that lends its connections for a transaction each lets LISTEN succeed and delivers nothing. So what another
   * connection notifies has to arrive, while this one asks for nothing, before it is believed to hear.
   */
  async #expectToHear(client: Client): Promise<void> {
    const proof = randomUUID();
    const { promise: heard, resolve, reject } = Promise.withResolvers<void>();
    client.on('notification', ({ payload }) => {
      if (payload === proof) {
        resolve();
      }
    });
    const late = setTimeout(() => reject(new Error('Notifications do not arrive.')), patienceMs);
    try {
      await Promise.all([heard, this.#database.call('prove_wake', `select pg_notify('wake', $1)`, [proof])]);
    } finally {
      clearTimeout(late);
    }
  }

  /** A connection that no longer answers is ended: a half-open one would never say so. */
  #watch(client: Client): void {
    let asking = false;
    const beat = async () => {
      if (asking) {
        return;
      }
      asking = true;
      const late = setTimeout(() => client.connection.stream.destroy(), patienceMs);
      const askedAt = performance.now();
      try {
        await client.query('select 1');
        this.#handlers.onBeat(askedAt);
      } catch {
        // Its end is told by itself.
      } finally {
        asking = false;
        clearTimeout(late);
      }
    };
    void beat();
    const timer = setInterval(() => void beat(), heartbeatMs);
    client.once('end', () => clearInterval(timer));
  }

  #retry(): void {
    if (!this.#stopped) {
      setTimeout(() => {
        this.#connect().catch(() => {
          this.#logger.warn('the wake listener cannot connect, or hears nothing behind a pooler');
          this.#retry();
        });
      }, 250).unref();
    }
  }
}
