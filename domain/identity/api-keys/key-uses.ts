import { LRUCache } from 'lru-cache';
import type { Database } from '#domain/foundation/persistence/database.ts';
import type { Identity } from '#domain/foundation/access/caller.ts';

const everyMs = 60_000;
const rememberedKeys = 10_000;

/** Updates `api_keys.last_used_at` to the minute, without a write per request and without delaying requests. */
export class KeyUses {
  readonly #database: Database;
  readonly #noted = new LRUCache<string, true>({ max: rememberedKeys, ttl: everyMs });

  constructor(database: Database) {
    this.#database = database;
  }

  note({ tenantId, apiKeyId }: Pick<Identity, 'tenantId' | 'apiKeyId'>): void {
    if (apiKeyId === null || this.#noted.has(apiKeyId)) {
      return;
    }
    this.#noted.set(apiKeyId, true);
    this.#database
      .call('note_key_use', 'select app.note_key_use($1, $2)', [tenantId, apiKeyId])
      .catch(() => this.#noted.delete(apiKeyId));
  }
}
