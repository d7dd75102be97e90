import type { Adapter, AdapterPayload } from 'oidc-provider';

/** The rows of one authorization server: two servers of a process share none. */
export class MemoryStore {
  readonly #rows = new Map<string, AdapterPayload>();

  adapterOf(model: string): Adapter {
    const key = (id: string) => `${model}:${id}`;
    const find = (id: string) => Promise.resolve(this.#rows.get(key(id)));
    return {
      upsert: (id, payload) => Promise.resolve(void this.#rows.set(key(id), payload)),
      find,
      findByUserCode: () => Promise.resolve(undefined),
      findByUid: (uid) =>
        Promise.resolve(
          this.#of(model)
            .map(([, row]) => row)
            .find((row) => row.uid === uid),
        ),
      consume: async (id) => {
        const row = await find(id);
        if (row !== undefined) row.consumed = Math.floor(Date.now() / 1_000);
      },
      destroy: (id) => Promise.resolve(void this.#rows.delete(key(id))),
      revokeByGrantId: (grantId) => this.revokeByGrantId(grantId),
    };
  }

  grantsOf(accountId: string): string[] {
    return this.#of('Grant')
      .filter(([, row]) => row.accountId === accountId)
      .map(([key]) => key.slice('Grant:'.length));
  }

  async revokeByGrantId(grantId: string): Promise<void> {
    for (const [key, row] of this.#rows) {
      if (row.grantId === grantId) this.#rows.delete(key);
    }
  }

  forget(model: string): void {
    for (const [key] of this.#of(model)) this.#rows.delete(key);
  }

  #of(model: string): [string, AdapterPayload][] {
    return [...this.#rows].filter(([key]) => key.startsWith(`${model}:`));
  }
}
