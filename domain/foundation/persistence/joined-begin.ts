import type { BoundedClass } from './bounded-client.ts';

const begin = 'begin';
const rollback = 'rollback';
const setContext = 'select set_config(';
const begun = { command: 'BEGIN', rowCount: null, oid: 0, fields: [], rows: [] };

/**
 * A client class for the ORM's pool: `begin` travels together with the statement that sets the tenant, which saves a
 * round trip of each transaction. Before any other statement it is sent alone. The ORM sends the statements of a
 * transaction one after the other.
 */
export function joinedBegin(Client: BoundedClass): BoundedClass {
  return class extends Client {
    #hasToBegin = false;
    /** Why the transaction did not begin: until its end, each further statement would be a transaction of its own. */
    #refusal: { reason: unknown } | null = null;

    override query(...args: unknown[]): never {
      const [text, values = []] = args;
      if (text === begin && answersByPromise(args)) {
        this.#hasToBegin = true;
        this.#refusal = null;
        return Promise.resolve(begun) as never;
      }
      if (text === rollback) {
        this.#refusal = null;
      }
      if (this.#refusal !== null) {
        return Promise.reject(this.#refusal.reason) as never;
      }
      if (!this.#hasToBegin) {
        return this.#send(args) as never;
      }
      this.#hasToBegin = false;
      // A statement with parameters cannot share its message.
      const isJoined =
        typeof text === 'string' && text.startsWith(setContext) && (values as unknown[]).length === 0;
      return (
        isJoined
          ? this.#begin(`${begin}; ${text}`).then(lastOf)
          : this.#begin(begin).then(() => this.#send(args))
      ) as never;
    }

    #begin(message: string): Promise<unknown> {
      return this.#send([message]).catch((reason: unknown) => {
        this.#refusal = { reason };
        throw reason;
      });
    }

    #send(args: unknown[]): Promise<unknown> {
      return super.query(...(args as [string]));
    }
  };
}

/** Not by a callback, as the pool's own calls. */
const answersByPromise = (args: unknown[]): boolean => typeof args.at(-1) !== 'function';

/** Of a message with several statements. */
const lastOf = (results: unknown): unknown => (Array.isArray(results) ? results.at(-1) : results);
