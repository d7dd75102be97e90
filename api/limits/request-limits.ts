import type { Identity } from '#domain/foundation/access/caller.ts';
import type { GatewayConfig } from '#domain/foundation/kernel/config.ts';
import type { Database } from '#domain/foundation/persistence/database.ts';
import { TenantTokens } from './tenant-tokens.ts';
import { TokenBuckets, type BucketSize, type Rest } from './token-buckets.ts';

export type RequestLimitSettings = Pick<
  GatewayConfig,
  | 'REQUESTS_PER_SECOND_PER_PRINCIPAL'
  | 'REQUEST_BURST_PER_PRINCIPAL'
  | 'REQUESTS_PER_SECOND_PER_TENANT'
  | 'REQUEST_BURST_PER_TENANT'
>;

/** Rate limit of a request, as structured fields. */
export interface RequestVerdict {
  /** For `RateLimit-Policy`: the size of each bucket, and the seconds in which it fills. */
  policy: string;
  /** For `RateLimit`: the rest of each bucket, and the seconds until it is full. */
  limit: string;
  /** Seconds until a retry may succeed; null when the request may pass. */
  retryAfter: number | null;
}

/** Rate limits of principals and tenants; one instance for all surfaces of a process. */
export class RequestLimits {
  readonly #principals: TokenBuckets;
  readonly #tenants: TenantTokens;
  readonly #policy: string;

  constructor(database: Database, settings: RequestLimitSettings) {
    const principal = {
      rate: settings.REQUESTS_PER_SECOND_PER_PRINCIPAL,
      burst: settings.REQUEST_BURST_PER_PRINCIPAL,
    };
    const tenant = {
      rate: settings.REQUESTS_PER_SECOND_PER_TENANT,
      burst: settings.REQUEST_BURST_PER_TENANT,
    };
    this.#principals = new TokenBuckets(principal);
    this.#tenants = new TenantTokens(database, tenant);
    this.#policy = `${policyOf('principal', principal)}, ${policyOf('tenant', tenant)}`;
  }

  /**
   * Takes from the principal's bucket first, so that one principal does not use up the tokens of others in its tenant.
   */
  async admit({ tenantId, principalId }: Identity, cost = 1): Promise<RequestVerdict> {
    const own = this.#principals.take(`${tenantId}/${principalId}`, cost);
    const mine = limitOf('principal', this.#principals.size, own);
    if (!own.taken) {
      return { policy: this.#policy, limit: mine, retryAfter: toSeconds(own.waitMs) };
    }
    const all = await this.#tenants.take(tenantId, cost);
    return {
      policy: this.#policy,
      limit: `${mine}, ${limitOf('tenant', this.#tenants.size, all)}`,
      retryAfter: all.taken ? null : toSeconds(all.waitMs),
    };
  }
}

const toSeconds = (ms: number): number => Math.max(1, Math.ceil(ms / 1_000));

const policyOf = (name: string, { rate, burst }: BucketSize): string =>
  `"${name}";q=${burst};w=${Math.max(1, Math.ceil(burst / rate))}`;

const limitOf = (name: string, { rate, burst }: BucketSize, { remaining }: Rest): string =>
  `"${name}";r=${remaining};t=${Math.max(0, Math.ceil((burst - remaining) / rate))}`;
