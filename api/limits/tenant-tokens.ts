import { LRUCache } from 'lru-cache';
import type { Database } from '#domain/persistence/database.ts';
import type { BucketSize, Rest } from './token-buckets.ts';

const rememberedTenants = 10_000;
/** A tenant that was given less than it wanted is asked about again after this time; its requests cost nothing till then. */
const askAgainMs = 100;
/** Tokens that were taken and not used go stale, because the bucket has filled again without them. */
const staleMs = 1_000;
const smallBlock = 5;

interface Account {
  left: number;
  /** Tokens that the next claim asks for: as many as were used within a tenth of a second, roughly. */
  block: number;
  claimedAt: number;
  /** What the bucket held after the last claim. */
  rest: number;
  emptyUntil: number;
  claiming: Promise<void> | null;
}

/**
 * The tenant's total over all gateways. Its bucket is a row of the database, from which this process takes blocks of
 * tokens: a write for each block, and none for a request. While the database is away nobody is refused for it.
 */
export class TenantTokens {
  readonly size: BucketSize;
  readonly #database: Database;
  readonly #accounts = new LRUCache<string, Account>({ max: rememberedTenants });
  readonly #largestBlock: number;

  constructor(database: Database, size: BucketSize) {
    this.#database = database;
    this.size = size;
    this.#largestBlock = Math.max(1, Math.floor(Math.min(size.rate, size.burst) / 10));
  }

  async take(tenantId: string, cost: number): Promise<Rest & { taken: boolean }> {
    const account = this.#accountOf(tenantId);
    for (let claims = 0; ; claims += 1) {
      const now = performance.now();
      dropStale(account, now);
      if (account.left >= cost) {
        account.left -= cost;
        if (account.left < account.block / 2 && now >= account.emptyUntil) {
          void this.#claim(tenantId, account, cost);
        }
        return { taken: true, remaining: Math.floor(account.left + account.rest), waitMs: 0 };
      }
      if (now < account.emptyUntil || claims === 3) {
        const waitMs = Math.max(account.emptyUntil - now, (cost * 1_000) / this.size.rate);
        return { taken: false, remaining: 0, waitMs };
      }
      await this.#claim(tenantId, account, cost);
    }
  }

  #accountOf(tenantId: string): Account {
    const known = this.#accounts.get(tenantId);
    if (known !== undefined) {
      return known;
    }
    const block = Math.min(smallBlock, this.#largestBlock);
    const fresh = { left: 0, block, claimedAt: 0, rest: 0, emptyUntil: 0, claiming: null };
    this.#accounts.set(tenantId, fresh);
    return fresh;
  }

  /** One at a time per tenant: whoever comes meanwhile waits for the same. */
  #claim(tenantId: string, account: Account, cost: number): Promise<void> {
    account.claiming ??= this.#fetch(tenantId, account, cost).finally(() => {
      account.claiming = null;
    });
    return account.claiming;
  }

  async #fetch(tenantId: string, account: Account, cost: number): Promise<void> {
    const now = performance.now();
    const { rate, burst } = this.size;
    const lastedMs = now - account.claimedAt;
    account.block =
      lastedMs < 100
        ? Math.min(account.block * 2, this.#largestBlock)
        : Math.max(
            Math.floor(account.block / (lastedMs > staleMs ? 2 : 1)),
            Math.min(smallBlock, this.#largestBlock),
          );
    account.claimedAt = now;
    const want = Math.max(account.block, cost);
    try {
      const [answer] = await this.#database.call<{ taken: number; rest: number }>(
        'take_tokens',
        'select * from app.take_tokens($1, $2, $3, $4)',
        [tenantId, want, rate, burst],
      );
      const taken = answer?.taken ?? 0;
      account.left += taken;
      account.rest = answer?.rest ?? 0;
      account.emptyUntil = taken < want ? performance.now() + askAgainMs : 0;
    } catch {
      account.left = want;
    }
  }
}

function dropStale(account: Account, now: number): void {
  if (now - account.claimedAt > staleMs) {
    account.left = Math.min(account.left, smallBlock);
  }
}
