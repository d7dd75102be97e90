/** Overlap during which a refresh token still works after its successor was used: a response may have been lost. */
export const overlapMs = 30_000;

/** Times are milliseconds of one clock. */
export interface RefreshToken {
  generation: number;
  retiredAt: number | null;
  expiresAt: number;
}

export interface TokenFamily {
  /** The current token's generation. */
  generation: number;
  ended: boolean;
  expiresAt: number;
  /** Whether a token is retired by its own use, instead of its successor's. */
  strict: boolean;
}

/**
 * `refused`: nothing happens. `reuse`: a replaced token was presented, so the session ends. `accepted`: `current`
 * becomes the family's generation, tokens of other generations (and, if `heir`, the other tokens of its own
 * generation) are retired, and the successor has the generation `successor`.
 */
export type Verdict =
  | { kind: 'refused' }
  | { kind: 'reuse' }
  | { kind: 'accepted'; current: number; retires: 'none' | 'others' | 'all'; successor: number };

/**
 * Rotation on acknowledgement: the current token stays current until its successor is used. Only the generation right
 * before the current one has an overlap; an older one never works again.
 */
export function evaluateRefresh(token: RefreshToken, family: TokenFamily, now: number): Verdict {
  if (family.ended || family.expiresAt <= now || token.expiresAt <= now) {
    return { kind: 'refused' };
  }
  if (token.retiredAt !== null) {
    const overlaps = token.generation >= family.generation - 1 && now - token.retiredAt <= overlapMs;
    return overlaps ? advance(family, family.generation, 'none') : { kind: 'reuse' };
  }
  return token.generation > family.generation
    ? advance(family, token.generation, 'others')
    : advance(family, family.generation, 'none');
}

function advance(family: TokenFamily, current: number, retires: 'none' | 'others'): Verdict {
  return family.strict
    ? { kind: 'accepted', current: current + 1, retires: 'all', successor: current + 1 }
    : { kind: 'accepted', current, retires, successor: current + 1 };
}
