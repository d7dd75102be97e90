import type { QueryArrayResult, QueryResult } from 'pg';
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

    override query(...args: unknown[]): never {
      const [text, values = []] = args;
      if (text === begin) {
        this.#hasToBegin = true;
        return Promise.resolve(begun) as never;
      }
      if (!this.#hasToBegin) {
        return this.#send(args) as never;
      }
      this.#hasToBegin = false;
      // A statement with parameters cannot share its message.
      if (typeof text === 'string' && text.startsWith(setContext) && (values as unknown[]).length === 0) {
        return this.#send([`${begin}; ${text}`]).then(lastOf) as never;
      }
      // Calls of one connection are answered in their order: a refused `begin` shows in the statement, too.
      this.#send([begin]).catch(() => undefined);
      return this.#send(args) as never;
    }

    #send(args: unknown[]): Promise<unknown> {
      return super.query(...(args as [string]));
    }
  };
}

/** Of a message with several statements. */
const lastOf = (results: unknown) =>
  (Array.isArray(results) ? results.at(-1) : results) as QueryResult | QueryArrayResult;
