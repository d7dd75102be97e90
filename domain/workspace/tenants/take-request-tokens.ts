import type { Database } from '#domain/foundation/persistence/database.ts';

export interface TokenClaim {
  tenantId: string;
  /** Tokens that the gateway wants. */
  want: number;
  /** Tokens a second with which the bucket fills. */
  rate: number;
  /** Tokens that the bucket holds at most. */
  burst: number;
}

/** Takes what the tenant's bucket of requests has, up to `want`. @returns the tokens taken, and what the bucket has left */
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
