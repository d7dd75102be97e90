/** How finely calls are timed. */
const tickMs = 250;
/** Of its own time, what a call is still given on a connection that was not heard since before another one hung. */
const suspectShare = 5;

/** A connection as the watch sees it. */
export interface Watched {
  /** Address of the server: what one connection shows of it is held against the others. */
  readonly server: string;
  /** Destroys the socket, which rejects the calls that wait for it. */
  terminate(reason: Error): void;
}

export interface WatchedCall {
  /** The server has answered, or the connection has ended. */
  end(): void;
}

/** The server did not answer in the time that it has; whether it did what it was asked is not known. */
export class Unanswered extends Error {
  /** The same as the operating system's own, only sooner. */
  readonly code = 'ETIMEDOUT';
}

/** Of the connections of a pool, as `pg` counts them. */
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
 * Bounds each call of PostgreSQL on this side: a host that vanished closes no connection, and the operating system
 * takes a quarter of an hour to notice. A connection whose call is not answered in time is destroyed, and so is each
 * idle one of that server that was not heard since; calls in flight on others are given less time.
 *
 * Time is counted in ticks of a timer, so that a pause of this process, whose answers then wait to be read, is not
 * taken for the server's silence.
 */
export class ConnectionWatch {
  readonly #onHung: () => void;
  readonly #calls = new Set<Call>();
  /** When each connection was last heard. */
  readonly #lastActivityAt = new Map<Watched, number>();
  readonly #pools: CountedPool[] = [];
  #now = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @param onHung for each call that was not answered in time */
  constructor(onHung: () => void = () => undefined) {
    this.#onHung = onHung;
  }

  begin(connection: Watched, withinMs: number): WatchedCall {
    if (!this.#lastActivityAt.has(connection)) {
      this.#lastActivityAt.set(connection, this.#now);
    }
    // The tick that is under way does not count.
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

  /** Connections that are in use now, and how many may be at once, over all pools. */
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
