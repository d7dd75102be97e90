import { LRUCache } from 'lru-cache';

/** Beyond it, whoever has not come for longest is forgotten: a full bucket, which is what it had by then. */
const rememberedKeys = 50_000;

export interface BucketSize {
  /** Tokens that come in, a second. */
  rate: number;
  /** Tokens that it holds at most. */
  burst: number;
}

/** What is left, and how long until there is one token again; 0 when there is. */
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

  /** Takes `cost` tokens, or none when there are not as many and the bucket is not full. */
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
