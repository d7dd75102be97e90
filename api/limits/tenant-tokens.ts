import { LRUCache } from 'lru-cache';
import type { Database } from '#domain/foundation/persistence/database.ts';
import { takeRequestTokens } from '#domain/workspace/tenants/take-request-tokens.ts';
import type { BucketSize, Rest } from './token-buckets.ts';

const rememberedTenants = 10_000;
/** A tenant that was given less than it wanted is asked about again after this time; its requests cost nothing till then. */
const askAgainMs = 100;
/** Tokens that were taken and not used go stale, because the bucket has filled again without them. */
const staleMs = 1_000;
/** The least that is taken at once; more where a hundredth of a second brings more. */
const minBlock = 5;

interface Account {
  left: number;
  /** What callers wait for. */
  waiting: number;
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
  readonly #smallestBlock: number;

  constructor(database: Database, size: BucketSize) {
    this.#database = database;
    this.size = size;
    const each = Math.min(size.rate, size.burst);
    this.#largestBlock = Math.max(1, Math.floor(each / 10));
    this.#smallestBlock = Math.min(this.#largestBlock, Math.max(minBlock, Math.floor(each / 100)));
  }

  async take(tenantId: string, asked: number): Promise<Rest & { taken: boolean }> {
    const cost = Math.min(asked, this.size.burst);
    const account = this.#accountOf(tenantId);
    for (;;) {
      const now = performance.now();
      if (now - account.claimedAt > staleMs) {
        account.left = Math.min(account.left, this.#smallestBlock);
      }
      if (account.left >= cost) {
        account.left -= cost;
        if (account.left < account.block / 2 && now >= account.emptyUntil) {
          void this.#claim(tenantId, account);
        }
        return { taken: true, remaining: Math.floor(account.left + account.rest), waitMs: 0 };
      }
      if (now < account.emptyUntil) {
        const waitMs = Math.max(account.emptyUntil - now, (cost * 1_000) / this.size.rate);
        return { taken: false, remaining: 0, waitMs };
      }
      account.waiting += cost;
      await this.#claim(tenantId, account);
      account.waiting -= cost;
    }
  }

  #accountOf(tenantId: string): Account {
    const known = this.#accounts.get(tenantId);
    if (known !== undefined) {
      return known;
    }
    const fresh = {
      left: 0,
      waiting: 0,
      block: this.#smallestBlock,
      claimedAt: 0,
      rest: 0,
      emptyUntil: 0,
      claiming: null,
    };
    this.#accounts.set(tenantId, fresh);
    return fresh;
  }

  /** One at a time per tenant: whoever comes meanwhile waits for the same. */
  #claim(tenantId: string, account: Account): Promise<void> {
    account.claiming ??= this.#fetch(tenantId, account).finally(() => {
      account.claiming = null;
    });
    return account.claiming;
  }

  async #fetch(tenantId: string, account: Account): Promise<void> {
    const now = performance.now();
    const { rate, burst } = this.size;
    const lastedMs = now - account.claimedAt;
    if (lastedMs < 100) {
      account.block = Math.min(account.block * 2, this.#largestBlock);
    } else if (lastedMs > staleMs) {
      account.block = Math.max(Math.floor(account.block / 2), this.#smallestBlock);
    }
    account.claimedAt = now;
    const want = Math.max(account.block, account.waiting);
    try {
      const { taken, rest } = await takeRequestTokens(this.#database, { tenantId, want, rate, burst });
      account.left += taken;
      account.rest = rest;
      account.emptyUntil = taken < want ? performance.now() + askAgainMs : 0;
    } catch {
      account.left = want;
    }
  }
}
