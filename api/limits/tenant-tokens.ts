import { LRUCache } from 'lru-cache';
import type { Database } from '#domain/foundation/persistence/database.ts';
import { takeRequestTokens } from '#domain/workspace/tenants/take-request-tokens.ts';
import type { BucketSize, Rest } from './token-buckets.ts';

const rememberedTenants = 10_000;
/**
 * After a partial grant the database is asked again after this time; until then the tenant's requests cost no query.
 */
const askAgainMs = 100;
/** Unused tokens expire after this time, because the bucket has refilled without them. */
const staleMs = 1_000;
/** Min tokens of a claim; more where a hundredth of a second refills more. */
const minBlock = 5;

interface Account {
  left: number;
  /** Tokens that waiting callers need. */
  waiting: number;
  /** Tokens that the next claim requests: roughly the use of a tenth of a second. */
  block: number;
  claimedAt: number;
  /** Rest of the bucket after the last claim. */
  rest: number;
  emptyUntil: number;
  claiming: Promise<void> | null;
}

/**
 * The tenant's total over all gateways. Its bucket is a database row, from which this process claims blocks of tokens:
 * one write per block, and none per request. While the database is unavailable no request is refused.
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

  /** One claim at a time per tenant: concurrent callers wait for the same claim. */
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
