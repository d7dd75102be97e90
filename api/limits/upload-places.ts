import type { Identity } from '#domain/foundation/access/caller.ts';
import type { GatewayConfig } from '#domain/foundation/kernel/config.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';

/** Counts the files that this process is receiving, so that no tenant takes all places. */
export class UploadPlaces {
  readonly #limits: Pick<GatewayConfig, 'MAX_UPLOADS_PER_TENANT' | 'MAX_UPLOADS'>;
  readonly #taken = new Map<string, number>();
  #all = 0;

  constructor(limits: Pick<GatewayConfig, 'MAX_UPLOADS_PER_TENANT' | 'MAX_UPLOADS'>) {
    this.#limits = limits;
  }

  /** @throws `rate_limited`, `overloaded` */
  async run<T>({ tenantId }: Identity, upload: () => Promise<T>): Promise<T> {
    const { MAX_UPLOADS_PER_TENANT: each, MAX_UPLOADS: all } = this.#limits;
    const own = this.#taken.get(tenantId) ?? 0;
    if (own >= each) {
      throw new DomainError('rate_limited', `${each} files of this tenant are being uploaded already.`, {
        retryAfter: 2,
      });
    }
    if (this.#all >= all) {
      throw new DomainError('overloaded', 'The service is busy; try again.', { retryAfter: 2 });
    }
    this.#taken.set(tenantId, own + 1);
    this.#all += 1;
    try {
      return await upload();
    } finally {
      this.#all -= 1;
      const left = (this.#taken.get(tenantId) ?? 1) - 1;
      if (left > 0) {
        this.#taken.set(tenantId, left);
      } else {
        this.#taken.delete(tenantId);
      }
    }
  }
}
