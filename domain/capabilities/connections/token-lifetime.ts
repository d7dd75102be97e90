import type { IssuedTokens } from './authorization-servers.ts';

/** How long issued tokens are good. */
export interface TokenLifetime {
  /** Seconds; null: the server did not say. */
  seconds: number | null;
  /** When they end, by the database's clock. */
  expiresAt(now: Date): Date | null;
}

/**
 * The lifetime of tokens that were received just now. It is measured with the clock that the answer was read with, and
 * counted from the database's: the two need not agree.
 */
export function lifetimeOf({ expiresAt }: Pick<IssuedTokens, 'expiresAt'>): TokenLifetime {
  if (expiresAt === null) {
    return { seconds: null, expiresAt: () => null };
  }
  const receivedAt = performance.now();
  const leftMs = expiresAt.getTime() - Date.now();
  return {
    seconds: Math.max(0, Math.round(leftMs / 1_000)),
    expiresAt: (now) => new Date(now.getTime() + leftMs - (performance.now() - receivedAt)),
  };
}
