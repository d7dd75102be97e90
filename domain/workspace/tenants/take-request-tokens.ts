import type { Database } from '#domain/foundation/persistence/database.ts';

export interface TokenClaim {
  tenantId: string;
  /** Tokens that the gateway requests. */
  want: number;
  /** Refill rate in tokens per second. */
  rate: number;
  /** Max tokens in the bucket. */
  burst: number;
}

/** Takes up to `want` tokens from the tenant's request bucket. @returns the tokens taken, and those left */
export async function takeRequestTokens(
  database: Database,
  { tenantId, want, rate, burst }: TokenClaim,
): Promise<{ taken: number; rest: number }> {
  const [answer] = await database.call<{ taken: number; rest: number }>(
    'take_tokens',
    'select * from app.take_tokens($1, $2, $3, $4)',
    [tenantId, want, rate, burst],
  );
  return answer ?? { taken: 0, rest: 0 };
}
