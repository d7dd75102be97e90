/** Resolution of call timing. */
const tickMs = 250;
/** Divisor of a call's time limit on a connection without activity since another one of its server hung. */
const suspectShare = 5;

/** A connection as the watch monitors it. */
export interface Watched {
  /** Address of the server: a hung connection makes the others of that server suspect. */
  readonly server: string;
  /** Destroys the socket, which rejects pending calls. */
  terminate(reason: Error): void;
}

export interface WatchedCall {
  /** Called when the server has answered, or the connection has ended. */
  end(): void;
}

/** The server did not answer in time; the outcome of the statement is unknown. */
export class Unanswered extends Error {
  /** The operating system's own code, reported earlier. */
  readonly code = 'ETIMEDOUT';
}

/** The connections of a pool, as `pg` counts them. */
export interface CountedPool {
  readonly totalCount: number;
  readonly idleCount: number;
  readonly options: { max?: number | undefined };
}

interface Call {
  readonly connection: Watched;
  readonly withinMs: number;
  readonly startedAt: number;
  dueAt: number;
}

/**
 * Bounds each call of PostgreSQL on the client side: a host that vanished closes no connection, and the operating
 * system takes a quarter of an hour to notice. A connection whose call times out is destroyed, and so is each idle
 * connection of that server without activity since; calls in flight on its other connections get a shorter limit.
 *
 * Time is counted in timer ticks, so that a pause of this process, during which answers wait to be read, does not
 * count as silence of the server.
 */
export class ConnectionWatch {
  readonly #onHung: () => void;
  readonly #calls = new Set<Call>();
  /** Last activity of each connection. */
  readonly #lastActivityAt = new Map<Watched, number>();
  readonly #pools: CountedPool[] = [];
  #now = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @param onHung called for each call that timed out */
  constructor(onHung: () => void = () => undefined) {
    this.#onHung = onHung;
  }

  begin(connection: Watched, withinMs: number): WatchedCall {
    if (!this.#lastActivityAt.has(connection)) {
      this.#lastActivityAt.set(connection, this.#now);
    }
    // The current tick does not count.
    const call = { connection, withinMs, startedAt: this.#now, dueAt: this.#now + withinMs + tickMs };
    this.#calls.add(call);
    this.#timer ??= setInterval(() => this.#tick(), tickMs).unref();
    return {
      end: () => {
        if (this.#calls.delete(call) && this.#lastActivityAt.has(connection)) {
          this.#lastActivityAt.set(connection, this.#now);
        }
      },
    };
  }

  forget(connection: Watched): void {
    this.#lastActivityAt.delete(connection);
  }

  count(pool: CountedPool): void {
    this.#pools.push(pool);
  }

  /** Connections in use, and their max, over all pools. */
  get connections(): { inUse: number; max: number } {
    return this.#pools.reduce(
      ({ inUse, max }, pool) => ({
        inUse: inUse + pool.totalCount - pool.idleCount,
        max: max + (pool.options.max ?? 0),
      }),
      { inUse: 0, max: 0 },
    );
  }

  #tick(): void {
    this.#now += tickMs;
    if (this.#calls.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      return;
    }
    for (const call of [...this.#calls].filter(({ dueAt }) => this.#now >= dueAt)) {
      this.#giveUp(call);
    }
  }

  #giveUp(call: Call): void {
    this.#calls.delete(call);
    this.#terminate(call.connection);
    this.#onHung();
    const { server } = call.connection;
    for (const [other, lastActivityAt] of this.#lastActivityAt) {
      if (other.server === server && lastActivityAt <= call.startedAt) {
        this.#suspect(other);
      }
    }
  }

  #suspect(connection: Watched): void {
    const calls = [...this.#calls].filter((call) => call.connection === connection);
    if (calls.length === 0) {
      this.#terminate(connection);
    }
    for (const call of calls) {
      call.dueAt = Math.min(call.dueAt, this.#now + call.withinMs / suspectShare);
    }
  }

  #terminate(connection: Watched): void {
    this.forget(connection);
    connection.terminate(new Unanswered('The database did not answer in time.'));
  }
}
