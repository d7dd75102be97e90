import { Client, type ClientConfig } from 'pg';
import { ConnectionWatch, type Watched } from './connection-watch.ts';
import { statementTimeoutInForce } from './statement-timeout.ts';

/** Margin above the server's own limit: the server should cancel a slow statement first. */
const marginMs = 2_000;
/** Max time for an orderly close of a connection. */
const closeTimeoutMs = 1_000;

export interface ClientBounds {
  /** Milliseconds after which the server cancels a statement. */
  statementTimeoutMs: number;
  /** Shared by all connections of a process, so that each benefits from what the others observe. */
  watch?: ConnectionWatch | undefined;
}

/** A statement may set its own time limit. */
export interface BoundedQuery {
  answerWithinMs?: number;
}

export type BoundedClass = new (config?: ClientConfig) => Client;

/**
 * A client class for a pool. Plain `pg` waits for ever, and its `query_timeout` abandons the call but leaves its
 * connection in use; here the connection of an unanswered call is destroyed, and the pool opens a new one.
 */
export function boundedClient({
  statementTimeoutMs,
  watch = new ConnectionWatch(),
}: ClientBounds): BoundedClass {
  return class BoundedClient extends Client implements Watched {
    constructor(config?: ClientConfig) {
      super(config);
      // Calls report the error themselves; without a listener it would end the process.
      this.on('error', () => undefined);
      this.once('end', () => watch.forget(this));
    }

    get server(): string {
      return `${this.host}:${this.port}`;
    }

    terminate(reason: Error): void {
      this.connection.stream.destroy(reason);
    }

    /** Supports each call form of the driver: a callback after the values, or a promise. */
    override query(...args: unknown[]): never {
      const own = (args[0] as BoundedQuery).answerWithinMs;
      const call = watch.begin(this, own ?? statementTimeoutInForce(statementTimeoutMs) + marginMs);
      const callback = args.at(-1);
      if (typeof callback === 'function') {
        args[args.length - 1] = (...answer: unknown[]) => {
          call.end();
          (callback as (...answer: unknown[]) => void)(...answer);
        };
      }
      const result: unknown = super.query(...(args as Parameters<Client['query']>));
      if (result instanceof Promise) {
        result.then(
          () => call.end(),
          () => call.end(),
        );
      }
      return result as never;
    }

    override end(...args: unknown[]): never {
      const late = setTimeout(() => this.connection.stream.destroy(), closeTimeoutMs).unref();
      this.once('end', () => clearTimeout(late));
      return super.end(...(args as Parameters<Client['end']>)) as never;
    }
  };
}
