import type { Identity } from '#domain/foundation/access/caller.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';

export interface StreamLimits {
  MAX_STREAMS_PER_PRINCIPAL: number;
  MAX_STREAMS_PER_TENANT: number;
  MAX_STREAMS: number;
}

/** Counts the open streams of this process, so that no principal or tenant takes all of them. */
export class StreamPlaces {
  readonly #limits: StreamLimits;
  readonly #taken = new Map<string, number>();

  constructor(limits: StreamLimits) {
    this.#limits = limits;
  }

  /** Called before acceptance: an accepted response with a stream is not refused afterwards. @throws `rate_limited` */
  assertUnderLimit(identity: Identity): void {
    const { principal, tenant, all } = rooms(identity);
    const isFull =
      this.#count(principal) >= this.#limits.MAX_STREAMS_PER_PRINCIPAL ||
      this.#count(tenant) >= this.#limits.MAX_STREAMS_PER_TENANT ||
      this.#count(all) >= this.#limits.MAX_STREAMS;
    if (isFull) {
      throw new DomainError('rate_limited', 'Too many streams are open.', { retryAfter: 5 });
    }
  }

  /** Checks and takes a place at once: concurrent requests count it. @throws `rate_limited` */
  take(identity: Identity): () => void {
    this.assertUnderLimit(identity);
    return this.enter(identity);
  }

  /** @returns a function that releases the place once */
  enter(identity: Identity): () => void {
    const taken = Object.values(rooms(identity));
    taken.forEach((room) => this.#taken.set(room, this.#count(room) + 1));
    return () => taken.splice(0).forEach((room) => this.#leave(room));
  }

  #count(room: string): number {
    return this.#taken.get(room) ?? 0;
  }

  #leave(room: string): void {
    const left = this.#count(room) - 1;
    if (left > 0) {
      this.#taken.set(room, left);
    } else {
      this.#taken.delete(room);
    }
  }
}

function rooms({ tenantId, principalId }: Identity): { principal: string; tenant: string; all: string } {
  return { principal: `${tenantId}/${principalId}`, tenant: tenantId, all: '' };
}
