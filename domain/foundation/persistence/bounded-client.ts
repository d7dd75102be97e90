import { Client, type ClientConfig } from 'pg';
import { ConnectionWatch, type Watched } from './connection-watch.ts';
import { statementTimeoutInForce } from './statement-timeout.ts';

/** How much later than the server's own limit a call is given up: a slow statement is the server's to refuse. */
const marginMs = 2_000;
/** How long a connection may take to say goodbye. */
const goodbyeMs = 1_000;

export interface ClientBounds {
  /** Milliseconds after which the server gives a statement up. */
  statementTimeoutMs: number;
  /** One for all connections of a process, so that they learn from each other. */
  watch?: ConnectionWatch | undefined;
}

/** A statement may say how soon it has to be answered. */
export interface BoundedQuery {
  answerWithinMs?: number;
}

export type BoundedClass = new (config?: ClientConfig) => Client;

/**
 * A class of clients for a pool. `pg` alone waits for ever, and its `query_timeout` gives the call up and leaves its
 * connection in use; here the connection of a call that is not answered is destroyed, and the pool makes a new one.
 */
export function boundedClient({
  statementTimeoutMs,
  watch = new ConnectionWatch(),
}: ClientBounds): BoundedClass {
  return class BoundedClient extends Client implements Watched {
    constructor(config?: ClientConfig) {
      super(config);
      // Its calls say so; without a listener it would end the process.
      this.on('error', () => undefined);
      this.once('end', () => watch.forget(this));
    }

    get server(): string {
      return `${this.host}:${this.port}`;
    }

    terminate(reason: Error): void {
      this.connection.stream.destroy(reason);
    }

    /** In each of the driver's forms: with a callback behind its values, or with a promise. */
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
      const late = setTimeout(() => this.connection.stream.destroy(), goodbyeMs).unref();
      this.once('end', () => clearTimeout(late));
      return super.end(...(args as Parameters<Client['end']>)) as never;
    }
  };
}
