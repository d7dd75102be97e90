import { randomUUID } from 'node:crypto';
import type { Client, Notification } from 'pg';
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
    try {
      await patiently(client, async () => {
        await client.connect();
        await client.query('listen wake');
        await this.#expectToHear(client);
        // Asked of this connection, and last: one that has ended meanwhile is not taken as being up.
        await client.query('listen access');
      });
    } catch (error) {
      cut(client);
      throw error;
    }
    if (this.#stopped) {
      await client.end();
      return;
    }
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
    const hear = ({ payload }: Notification) => {
      if (payload === proof) {
        resolve();
      }
    };
    const end = () => reject(new Error('The connection has ended, or nothing arrives.'));
    client.on('notification', hear).once('end', end);
    try {
      await Promise.all([heard, this.#database.call('prove_wake', `select pg_notify('wake', $1)`, [proof])]);
    } finally {
      client.off('notification', hear).off('end', end);
    }
  }

  #watch(client: Client): void {
    let asking = false;
    const beat = async () => {
      if (asking) {
        return;
      }
      asking = true;
      const askedAt = performance.now();
      try {
        await patiently(client, () => client.query('select 1'));
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
      setTimeout(() => {
        this.#connect().catch(() => {
          this.#logger.warn('the wake listener cannot connect, or hears nothing behind a pooler');
          this.#retry();
        });
      }, 250).unref();
    }
  }
}

const cut = (client: Client): void => void client.connection.stream.destroy();

/** A connection that does not answer in time is ended: a half-open one would never say so. */
async function patiently(client: Client, work: () => Promise<unknown>): Promise<void> {
  const late = setTimeout(() => cut(client), patienceMs);
  try {
    await work();
  } finally {
    clearTimeout(late);
  }
}
