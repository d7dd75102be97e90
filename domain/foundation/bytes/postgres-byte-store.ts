import { createHash } from 'node:crypto';
import type { EntityManager } from '@mikro-orm/postgresql';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { BytesNotFound, type ByteStore, type PutOptions, type StoredBytes } from './byte-store.ts';
import { inParts } from './parts.ts';

/** Runs one step in a transaction of the tenant. */
type Run = <T>(step: (em: EntityManager) => Promise<T>) => Promise<T>;

interface Mode {
  run: Run;
  /** How long the purge leaves new bytes alone that nothing refers to yet; null: they come with their reference. */
  holdFor: string | null;
}

/** Of a stream that is slow, or whose reader takes its time. */
const holdFor = '1 hour';

/** Content in rows of bounded size. Row-level security keeps tenants apart; the conditions on the tenant serve indexes. */
export class PostgresByteStore implements ByteStore {
  readonly #tenantId: string;
  readonly #mode: Mode;

  private constructor(tenantId: string, mode: Mode) {
    this.#tenantId = tenantId;
    this.#mode = mode;
  }

  /** Everything in the caller's transaction, which also refers to what is put: for content that is at hand. */
  static within(tenantId: string, em: EntityManager): PostgresByteStore {
    return new PostgresByteStore(tenantId, { run: (step) => step(em), holdFor: null });
  }

  /** Each part in a transaction of its own, so that none is open while a stream is waited for. */
  static inSteps(tenantId: string, run: Run): PostgresByteStore {
    return new PostgresByteStore(tenantId, { run, holdFor });
  }

  async put(
    source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    { purpose, maxBytes }: PutOptions,
  ): Promise<StoredBytes> {
    const key = `${purpose}/${newId()}`;
    await this.#execute(
      `insert into stored_objects (tenant_id, key, purge_after) values (?, ?, now() + ?::interval)`,
      [key, this.#mode.holdFor],
    );
    try {
      const hash = createHash('sha256');
      let byteSize = 0;
      let position = 0;
      for await (const part of inParts(source, maxBytes)) {
        await this.#execute(
          'insert into stored_parts (tenant_id, key, position, bytes) values (?, ?, ?, ?)',
          [key, position, Buffer.from(part.buffer, part.byteOffset, part.byteLength)],
        );
        hash.update(part);
        byteSize += part.byteLength;
        position += 1;
      }
      return await this.#finish({ key, byteSize, sha256: hash.digest('hex') }, purpose);
    } catch (error) {
      // Where the database itself is the reason, the purge removes what is left.
      await this.delete(key).catch(() => {});
      throw error;
    }
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

  /** Of equal bytes that are put at once, the second finds the first's: one lock for each hash. */
  async #finish(stored: StoredBytes, purpose: string): Promise<StoredBytes> {
    const { key, byteSize, sha256 } = stored;
    return this.#mode.run(async (em) => {
      await em.execute('select pg_advisory_xact_lock(hashtextextended(?, 0))', [
        `${this.#tenantId}/${purpose}/${sha256}`,
      ]);
      // Locked until its reference is there, or held for as long: the purge leaves it alone.
      const [equal] = await em.execute<{ key: string }[]>(
        `update stored_objects set purge_after = greatest(purge_after, now() + ?::interval)
         where tenant_id = ? and split_part(key, '/', 1) = ? and sha256 = ? returning key`,
        [this.#mode.holdFor, this.#tenantId, purpose, sha256],
      );
      if (equal !== undefined) {
        await em.execute('delete from stored_objects where tenant_id = ? and key = ?', [this.#tenantId, key]);
        return { ...stored, key: equal.key };
      }
      await em.execute(
        'update stored_objects set sha256 = ?, byte_size = ? where tenant_id = ? and key = ? returning key',
        [sha256, byteSize, this.#tenantId, key],
      );
      return stored;
    });
  }

  async #execute<Row extends object>(sql: string, values: unknown[]): Promise<Row[]> {
    return this.#mode.run((em) => em.execute<Row[]>(sql, [this.#tenantId, ...values]));
  }
}
