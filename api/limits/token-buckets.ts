import { LRUCache } from 'lru-cache';

/** Above this count the least recently used key is evicted; its bucket was full again by then. */
const rememberedKeys = 50_000;

export interface BucketSize {
  /** Tokens that refill per second. */
  rate: number;
  /** Max tokens of a bucket. */
  burst: number;
}

/** Remaining tokens, and the time until one token is available; 0 when one is. */
export interface Rest {
  remaining: number;
  waitMs: number;
}

interface Bucket {
  tokens: number;
  filledAt: number;
}

/** Buckets of this process, one per key, each full at first. Times are of `performance.now()`. */
export class TokenBuckets {
  readonly size: BucketSize;
  readonly #buckets = new LRUCache<string, Bucket>({ max: rememberedKeys });

  constructor(size: BucketSize) {
    this.size = size;
  }

  /** Takes `cost` tokens; takes none when there are fewer and the bucket is not full. */
  take(key: string, cost: number, now = performance.now()): Rest & { taken: boolean } {
    const { rate, burst } = this.size;
    const bucket = this.#buckets.get(key) ?? { tokens: burst, filledAt: now };
    const tokens = Math.min(burst, bucket.tokens + ((now - bucket.filledAt) * rate) / 1_000);
    const taken = tokens >= Math.min(cost, burst);
    const left = taken ? tokens - Math.min(cost, burst) : tokens;
    this.#buckets.set(key, { tokens: left, filledAt: now });
    const short = Math.min(cost, burst) - tokens;
    return { taken, remaining: Math.floor(left), waitMs: taken ? 0 : (short * 1_000) / rate };
  }
}
