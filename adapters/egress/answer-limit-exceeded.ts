import type { AnswerUse } from './answer-limits.ts';

export type PassedLimit = 'bytes' | 'event' | 'encodings' | 'headers' | 'idle' | 'total';

/** A server's answer that the platform cut off, for the metrics. */
export interface ExceededLimit {
  use: AnswerUse;
  limit: PassedLimit;
  /** Bytes read until then, after inflation. */
  bytes: number;
}

/** A server's answer was too large or too late, and its connection was destroyed. */
export class AnswerLimitExceeded extends Error {
  readonly limit: PassedLimit;

  constructor(limit: PassedLimit) {
    super('An answer was too large or too late.');
    this.name = 'AnswerLimitExceeded';
    this.limit = limit;
  }

  get isLate(): boolean {
    return this.limit === 'headers' || this.limit === 'idle' || this.limit === 'total';
  }

  /** Finds this error inside an error in which a client package has wrapped it. */
  static in(error: unknown): AnswerLimitExceeded | null {
    for (let cause = error, depth = 0; cause instanceof Error && depth < 8; cause = cause.cause, depth += 1) {
      if (cause instanceof AnswerLimitExceeded) {
        return cause;
      }
    }
    return null;
  }
}
