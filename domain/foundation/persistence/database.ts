import { Pool, types, type Client } from 'pg';
import { boundedClient, type BoundedClass, type BoundedQuery, type ClientBounds } from './bounded-client.ts';
import { sessionOptions } from './session-options.ts';

/** Postgres returns int8 as text; no value here exceeds 2^53. */
const int8 = 20;

/** Longer than the period of the sweeps: a new connection costs more than all of their statements while idle. */
const idleTimeoutMillis = 60_000;

export interface DatabaseOptions extends ClientBounds {
  url: string;
  poolSize?: number;
}

/**
 * The pool for hot SQL: one prepared call of one SQL function per operation. Tenant isolation comes from the
 * functions, which take the tenant first, and from row-level security.
 */
export class Database {
  readonly #pool: Pool;
  readonly #url: string;
  readonly #Client: BoundedClass;
  #answeredAt = -Infinity;

  constructor(options: DatabaseOptions) {
    this.#url = options.url;
    this.#Client = boundedClient(options);
    this.#pool = new Pool({
      Client: this.#Client,
      connectionString: options.url,
      max: options.poolSize ?? 6,
      connectionTimeoutMillis: 2_000,
      idleTimeoutMillis,
      statement_timeout: options.statementTimeoutMs,
      lock_timeout: 2_000,
      options: sessionOptions,
      application_name: 'platform-hot',
      types: {
        getTypeParser: (oid: number, format?: 'text' | 'binary') =>
          oid === int8 ? Number : types.getTypeParser(oid, format),
      },
    });
    // The pool replaces a broken idle connection on the next use; without a listener the error would end the process.
    this.#pool.on('error', () => undefined);
    options.watch?.count(this.#pool);
  }

  /** When the server last answered a call, in `performance.now()`. */
  get answeredAt(): number {
    return this.#answeredAt;
  }

  async call<Row extends object>(
    name: string,
    text: string,
    values: unknown[],
    bounds: BoundedQuery = {},
  ): Promise<Row[]> {
    const result = await this.#pool.query<Row>({ name, text, values, ...bounds });
    this.#answeredAt = performance.now();
    return result.rows;
  }

  /** Whether the server answers on a connection of the pool, within the bounds of every call. */
  async answers(): Promise<boolean> {
    return this.call('ready', 'select 1', []).then(
      () => true,
      () => false,
    );
  }

  /** A connection outside the pool, for LISTEN. */
  newClient(): Client {
    return new this.#Client({
      connectionString: this.#url,
      connectionTimeoutMillis: 2_000,
      options: sessionOptions,
    });
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }

  /** @throws unless the login is subject to row-level security: no superuser, no BYPASSRLS, owner of nothing. */
  async assertRestrictedRole(): Promise<void> {
    const [role] = await this.call<{ unsafe: boolean; owns: boolean }>(
      'role',
      `select rolsuper or rolbypassrls as unsafe,
              exists (select from pg_class c where pg_has_role(c.relowner, 'USAGE') and c.relnamespace = 'public'::regnamespace) as owns
       from pg_roles where rolname = current_user`,
      [],
    );
    if (role === undefined || role.unsafe || role.owns) {
      throw new Error(
        'The database login must be app_rt: not a superuser, without BYPASSRLS and owner of no table.',
      );
    }
  }
}
