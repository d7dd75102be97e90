export const verifierFailures = [
  /** It has no login. */
  'verifier_not_configured',
  /** It does not see what is erased: another database, a copy that lags, or a table that it may not read. */
  'verifier_blind',
  /** It gave no answer. */
  'verifier_unreachable',
] as const;
export type VerifierFailureCode = (typeof verifierFailures)[number];

/** Why nothing could be verified. The message has no text of a database. */
export class VerifierFailure extends Error {
  readonly code: VerifierFailureCode;

  constructor(code: VerifierFailureCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'VerifierFailure';
    this.code = code;
  }
}
