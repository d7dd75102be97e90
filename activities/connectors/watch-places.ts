/** Places for watches on this worker, of which one tenant has a part: others get theirs. */
export class WatchPlaces {
  readonly #maxPerTenant: number;
  readonly #taken = new Map<string, number>();

  constructor(maxPerTenant: number) {
    this.#maxPerTenant = maxPerTenant;
  }

  /** @returns what releases the place; null: the tenant has all that it may have */
  take(tenantId: string): (() => void) | null {
    const taken = this.#taken.get(tenantId) ?? 0;
    if (taken >= this.#maxPerTenant) {
      return null;
    }
    this.#taken.set(tenantId, taken + 1);
    return () => {
      const left = (this.#taken.get(tenantId) ?? 1) - 1;
      if (left === 0) {
        this.#taken.delete(tenantId);
      } else {
        this.#taken.set(tenantId, left);
      }
    };
  }
}
