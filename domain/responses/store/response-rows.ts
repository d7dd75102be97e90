import type { AccessRecord } from '#domain/foundation/access/policy.ts';
import type { Database } from '#domain/foundation/persistence/database.ts';
import { isDatabaseUnavailable } from '#domain/foundation/persistence/is-unavailable.ts';
import type { CallPlace } from './call-items.ts';
import type { ResponseHead, UsageSum } from '#domain/responses/record/response-record.ts';

/** One response and the reader that requests it. */
export interface RowAddress {
  tenantId: string;
  principalId: string;
  spaceId: string;
  responseId: string;
  /** Reads only the access, the owner, and whether the response is gone. */
  bare?: boolean;
}

/** A row of `app.read_responses`; without `owner` the response is unknown. */
export interface ResponseRow {
  access: AccessRecord | null;
  owner: string | null;
  next_n: number;
  expires_in_ms: number;
  /** The JSON of its record, once it has ended. */
  record: string | null;
  /** Set if it is expired or deleted. */
  ids: { expired: boolean; deleted: boolean } | null;
  /** Set while the response has not ended; neither these nor the record are set for a bare read. */
  head: ResponseHead | null;
  items: { output_index: number; wire: string }[] | null;
  usage: UsageSum | null;
  open_calls: CallPlace[] | null;
  open_events: string | null;
}

interface Waiting extends RowAddress {
  reader: string;
  resolve: (row: ResponseRow) => void;
  reject: (error: unknown) => void;
}

/** Half of the pool, so that readers do not delay other calls. */
const callsAtOnce = 3;
const rowsPerCall = 64;

/**
 * Batches concurrent reads of responses into one database call, and reads the access of each reader once per call.
 * Nothing is cached: each call begins after all of its requests have arrived.
 */
export class ResponseRows {
  readonly #database: Database;
  #waiting: Waiting[] = [];
  #calls = 0;
  #scheduled = false;

  constructor(database: Database) {
    this.#database = database;
  }

  read(address: RowAddress): Promise<ResponseRow> {
    return new Promise((resolve, reject) => {
      const reader = `${address.tenantId}/${address.principalId}/${address.spaceId}`;
      this.#waiting.push({ ...address, reader, resolve, reject });
      this.#schedule();
    });
  }

  /** After the other requests of this turn of the event loop. */
  #schedule(): void {
    if (!this.#scheduled && this.#calls < callsAtOnce && this.#waiting.length > 0) {
      this.#scheduled = true;
      setImmediate(() => {
        this.#scheduled = false;
        void this.#call(this.#waiting.splice(0, rowsPerCall));
        this.#schedule();
      });
    }
  }

  async #call(batch: Waiting[]): Promise<void> {
    this.#calls += 1;
    try {
      await this.#answer(batch);
    } catch (error) {
      if (batch.length === 1 || isDatabaseUnavailable(error)) {
        batch.forEach(({ reject }) => reject(error));
      } else {
        // Retries one by one, so that an error of one read does not fail the others.
        await Promise.all(batch.map((one) => this.#answer([one]).catch(one.reject)));
      }
    } finally {
      this.#calls -= 1;
      this.#schedule();
    }
  }

  async #answer(batch: Waiting[]): Promise<void> {
    const asked = batch.toSorted(byReader);
    const rows = await this.#database.call<Omit<ResponseRow, 'access'> & { access: string | null }>(
      'read_responses',
      'select * from app.read_responses($1, $2, $3, $4, $5)',
      [
        asked.map(({ tenantId }) => tenantId),
        asked.map(({ principalId }) => principalId),
        asked.map(({ spaceId }) => spaceId),
        asked.map(({ responseId }) => responseId),
        asked.map(({ bare = false }) => bare),
      ],
    );
    let access: AccessRecord | null = null;
    for (const [i, one] of asked.entries()) {
      const row = rows[i];
      if (row === undefined) {
        throw new Error('The database answered fewer rows than it was asked for.');
      }
      if (one.reader !== asked[i - 1]?.reader) {
        access = row.access === null ? null : (JSON.parse(row.access) as AccessRecord);
      }
      one.resolve({ ...row, access });
    }
  }
}

function byReader({ reader: a }: Waiting, { reader: b }: Waiting): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
