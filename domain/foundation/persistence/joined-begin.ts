import type { BoundedClass } from './bounded-client.ts';

const begin = 'begin';
const setContext = 'select set_config(';
const begun = { command: 'BEGIN', rowCount: null, oid: 0, fields: [], rows: [] };

/**
 * A client class for the ORM's pool: `begin` travels together with the statement that sets the tenant, which saves a
 * round trip of each transaction. Before any other statement it is sent alone.
 */
export function joinedBegin(Client: BoundedClass): BoundedClass {
  return class extends Client {
    #hasToBegin = false;
    /** Until a `begin` of its own is answered. */
    #beginning: Promise<unknown> | null = null;

    override query(...args: unknown[]): never {
      const [text, values = []] = args;
      if (text === begin && answersByPromise(args)) {
        this.#hasToBegin = true;
        return Promise.resolve(begun) as never;
      }
      if (this.#hasToBegin) {
        this.#hasToBegin = false;
        // A statement with parameters cannot share its message.
        if (typeof text === 'string' && text.startsWith(setContext) && (values as unknown[]).length === 0) {
          return this.#send([`${begin}; ${text}`]).then(lastOf) as never;
        }
        this.#beginning = this.#send([begin]).finally(() => (this.#beginning = null));
        this.#beginning.catch(() => undefined);
      }
      // After a refused `begin`, a statement would be a transaction of its own. A cursor is answered in its order.
      return this.#beginning !== null && answersByPromise(args)
        ? (this.#beginning.then(() => this.#send(args)) as never)
        : (this.#send(args) as never);
    }

    #send(args: unknown[]): Promise<unknown> {
      return super.query(...(args as [string]));
    }
  };
}

/** Neither by a callback nor by events. */
function answersByPromise(args: unknown[]): boolean {
  const [first] = args as [{ submit?: unknown }?];
  return typeof args.at(-1) !== 'function' && typeof first?.submit !== 'function';
}

/** Of a message with several statements. */
const lastOf = (results: unknown): unknown => (Array.isArray(results) ? results.at(-1) : results);
