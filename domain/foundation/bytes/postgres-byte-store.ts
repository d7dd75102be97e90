import { createHash } from 'node:crypto';
import type { EntityManager } from '@mikro-orm/postgresql';
import { averageUuid } from '#domain/foundation/persistence/average-uuid.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import {
  BytesNotFound,
  type ByteStore,
  type PutOptions,
  type ReceivedBytes,
  type StoredBytes,
} from './byte-store.ts';
import { inParts } from './parts.ts';

/** Runs one step in a transaction of the tenant. */
type Run = <T>(step: (em: EntityManager) => Promise<T>) => Promise<T>;

interface Mode {
  run: Run;
  /** How long the purge spares new bytes without a reference; null: bytes and reference share a transaction. */
  holdFor: string | null;
}

/** Longer than a slow upload, or a slow reader, takes. */
const holdFor = '1 hour';

/**
 * Content in rows of bounded size. Row-level security isolates tenants; the conditions on the tenant serve indexes.
 */
export class PostgresByteStore implements ByteStore {
  readonly #tenantId: string;
  readonly #mode: Mode;

  private constructor(tenantId: string, mode: Mode) {
    this.#tenantId = tenantId;
    this.#mode = mode;
  }

  /** Runs in the caller's transaction, which also adds the reference: for content that is in memory. */
  static within(tenantId: string, em: EntityManager): PostgresByteStore {
    return new PostgresByteStore(tenantId, { run: (step) => step(em), holdFor: null });
  }

  /** Stores each part in a transaction of its own, so that none stays open while the stream is awaited. */
  static inSteps(tenantId: string, run: Run): PostgresByteStore {
    return new PostgresByteStore(tenantId, { run, holdFor });
  }

  async put(
    source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    options: PutOptions,
  ): Promise<StoredBytes> {
    const received = await this.receive(source, options);
    return this.#orDelete(received.key, () => this.finish(received));
  }

  /**
   * The first half of `put`, for bytes whose reference is added in a later transaction: there `finish` of a store
   * `within` it makes them an object. Bytes that are never finished are purged.
   * @throws like `put`
   */
  async receive(
    source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    { purpose, maxBytes }: PutOptions,
  ): Promise<ReceivedBytes> {
    const key = `${purpose}/${newId()}`;
    await this.#execute(
      `insert into stored_objects (tenant_id, key, purge_after) values (?, ?, now() + ?::interval)`,
      [key, this.#mode.holdFor],
    );
    return this.#orDelete(key, async () => {
      const hash = createHash('sha256');
      let byteSize = 0;
      let position = 0;
      for await (const part of inParts(source, maxBytes)) {
        await this.#insertPart({ key, position, bytes: part });
        hash.update(part);
        byteSize += part.byteLength;
        position += 1;
      }
      return { key, byteSize, sha256: hash.digest('hex') };
    });
  }

  /**
   * `put` for many contents of at most one part each, in a few statements. Only within the caller's transaction, which
   * adds the references.
   * @returns the key of each hash
   */
  async putAll(
    contents: ReadonlyMap<string, Uint8Array>,
    purpose: PutOptions['purpose'],
  ): Promise<Map<string, string>> {
    const hashes = JSON.stringify([...contents.keys()]);
    return this.#mode.run(async (em) => {
      // In the order of the hashes, like everybody who takes several.
      await em.execute(
        `select pg_advisory_xact_lock(hashtextextended(? || '/' || ? || '/' || h, 0)) from (
           select h from jsonb_array_elements_text(?::jsonb) h order by h) as sorted`,
        [this.#tenantId, purpose, hashes],
      );
      const equal = await em.execute<{ key: string; sha256: string }[]>(
        `update stored_objects set purge_after = null
         where tenant_id = ${averageUuid} and split_part(key, '/', 1) = ?
           and sha256 = any (array(select jsonb_array_elements_text(?::jsonb))) returning key, sha256`,
        [this.#tenantId, purpose, hashes],
      );
      const keys = new Map(equal.map(({ key, sha256 }) => [sha256, key]));
      const fresh = [...contents].filter(([sha256]) => !keys.has(sha256));
      const rows = fresh.map(([sha256, bytes]) => ({
        key: `${purpose}/${newId()}`,
        sha256,
        byte_size: bytes.byteLength,
      }));
      if (rows.length > 0) {
        await em.execute(
          `insert into stored_objects (tenant_id, key, sha256, byte_size)
           select ?, r.key, r.sha256, r.byte_size from jsonb_to_recordset(?::jsonb) as r(key text, sha256 text, byte_size bigint)`,
          [this.#tenantId, JSON.stringify(rows)],
        );
        const parts = rows.flatMap(({ key, sha256 }) => {
          const bytes = contents.get(sha256) ?? new Uint8Array();
          return bytes.byteLength === 0
            ? []
            : [partRow({ tenantId: this.#tenantId, key, position: 0, bytes })];
        });
        if (parts.length > 0) {
          await em.getKysely<{ stored_parts: PartRow }>().insertInto('stored_parts').values(parts).execute();
        }
      }
      for (const { sha256, key } of rows) {
        keys.set(sha256, key);
      }
      return keys;
    });
  }

  async *open(key: string): AsyncGenerator<Uint8Array> {
    const [object] = await this.#execute<{ byte_size: string }>(
      'select byte_size from stored_objects where tenant_id = ? and key = ? and sha256 is not null',
      [key],
    );
    if (object === undefined) {
      throw new BytesNotFound();
    }
    let left = Number(object.byte_size);
    for (let position = 0; left > 0; position += 1) {
      const [part] = await this.#execute<{ bytes: Uint8Array }>(
        'select bytes from stored_parts where tenant_id = ? and key = ? and position = ?',
        [key, position],
      );
      if (part === undefined) {
        throw new BytesNotFound();
      }
      left -= part.bytes.byteLength;
      yield part.bytes;
    }
  }

  async delete(key: string): Promise<void> {
    await this.#execute('delete from stored_objects where tenant_id = ? and key = ?', [key]);
  }

  async list(prefix: string, { after, limit }: { after: string; limit: number }): Promise<string[]> {
    const rows = await this.#execute<{ key: string }>(
      'select key from stored_objects where tenant_id = ? and starts_with(key, ?) and key > ? order by key limit ?',
      [prefix, after, limit],
    );
    return rows.map(({ key }) => key);
  }

  /**
   * Makes received bytes an object that can be opened, or deletes them where equal ones are stored already. One lock
   * for each hash: of equal bytes stored concurrently, the second finds the row of the first.
   * @throws `BytesNotFound` when they were purged meanwhile
   */
  async finish(received: ReceivedBytes): Promise<StoredBytes> {
    const { key, byteSize, sha256 } = received;
    const [purpose = ''] = key.split('/', 1);
    const { holdFor: hold } = this.#mode;
    return this.#mode.run(async (em) => {
      await em.execute('select pg_advisory_xact_lock(hashtextextended(?, 0))', [
        `${this.#tenantId}/${purpose}/${sha256}`,
      ]);
      // Locked until the transaction adds its reference, or held for `holdFor`: the purge skips it.
      const [equal] = await em.execute<{ key: string }[]>(
        `update stored_objects set purge_after = greatest(purge_after, now() + ?::interval)
         where tenant_id = ? and split_part(key, '/', 1) = ? and sha256 = ? returning key`,
        [hold, this.#tenantId, purpose, sha256],
      );
      if (equal !== undefined) {
        await em.execute('delete from stored_objects where tenant_id = ? and key = ?', [this.#tenantId, key]);
        return { ...received, key: equal.key };
      }
      // Without a hold the reference is in this transaction: a deletion later today is purged at once.
      const finished = await em.execute(
        `update stored_objects set sha256 = ?, byte_size = ?, purge_after = now() + ?::interval
         where tenant_id = ? and key = ? returning key`,
        [sha256, byteSize, hold, this.#tenantId, key],
      );
      if (finished.length === 0) {
        throw new BytesNotFound();
      }
      return received;
    });
  }

  /** With a parameter: `execute` of the ORM would write the bytes into the text of the statement. */
  async #insertPart({
    bytes,
    ...place
  }: {
    key: string;
    position: number;
    bytes: Uint8Array;
  }): Promise<void> {
    const row = partRow({ tenantId: this.#tenantId, ...place, bytes });
    await this.#mode.run((em) =>
      em.getKysely<{ stored_parts: PartRow }>().insertInto('stored_parts').values(row).execute(),
    );
  }

  async #orDelete<T>(key: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      // Best effort: if the database is unavailable, the purge deletes the rest.
      await this.delete(key).catch(() => {});
      throw error;
    }
  }

  async #execute<Row extends object>(sql: string, values: unknown[]): Promise<Row[]> {
    return this.#mode.run((em) => em.execute<Row[]>(sql, [this.#tenantId, ...values]));
  }
}

type PartRow = ReturnType<typeof partRow>;

function partRow({
  tenantId,
  key,
  position,
  bytes,
}: {
  tenantId: string;
  key: string;
  position: number;
  bytes: Uint8Array;
}) {
  return {
    tenant_id: tenantId,
    key,
    position,
    bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
  };
}
