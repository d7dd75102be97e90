import type { Adapter, AdapterPayload } from 'oidc-provider';

const kept = new Map<string, AdapterPayload>();
const byUid = new Map<string, string>();
const byGrant = new Map<string, string[]>();

/** Sign-ins held in memory by the provider; a restart loses them, which is fine for a demo. */
export class MemoryAdapter implements Adapter {
  readonly #model: string;

  constructor(model: string) {
    this.#model = model;
  }

  async upsert(id: string, payload: AdapterPayload, expiresIn: number): Promise<void> {
    const key = this.#keyOf(id);
    kept.set(key, payload);
    if (payload.uid !== undefined) {
      byUid.set(payload.uid, id);
    }
    if (payload.grantId !== undefined) {
      byGrant.set(payload.grantId, [...(byGrant.get(payload.grantId) ?? []), key]);
    }
    if (expiresIn > 0) {
      setTimeout(() => kept.delete(key), Math.min(expiresIn * 1_000, 2 ** 31 - 1)).unref();
    }
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    return kept.get(this.#keyOf(id));
  }

  async findByUid(uid: string): Promise<AdapterPayload | undefined> {
    const id = byUid.get(uid);
    return id === undefined ? undefined : this.find(id);
  }

  async findByUserCode(): Promise<undefined> {
    return undefined;
  }

  async consume(id: string): Promise<void> {
    const payload = kept.get(this.#keyOf(id));
    if (payload !== undefined) {
      payload.consumed = Math.floor(Date.now() / 1_000);
    }
  }

  async destroy(id: string): Promise<void> {
    kept.delete(this.#keyOf(id));
  }

  async revokeByGrantId(grantId: string): Promise<void> {
    for (const key of byGrant.get(grantId) ?? []) {
      kept.delete(key);
    }
    byGrant.delete(grantId);
  }

  #keyOf(id: string): string {
    return `${this.#model}:${id}`;
  }
}
