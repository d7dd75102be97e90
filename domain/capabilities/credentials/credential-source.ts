/** The port to the values of stored credentials; its implementation stands in adapters/credentials. */
export interface CredentialSource {
  /**
   * The current value of the credential, for one request to `url`.
   * @param retryRead omitted: the database read is tried once
   * @throws CredentialFailure
   */
  read(use: CredentialUse, retryRead?: RetryRead): Promise<UsableCredential>;
  /** Reports that the server refused the value: its cached copy is not used again. */
  refused(identity: CredentialIdentity): void;
}

/** Repeats a read while the database is unavailable. */
export type RetryRead = <T>(read: () => Promise<T>) => Promise<T>;

/**
 * The credential and the principal for whom it is used. Every cache of results obtained with it must include all of
 * this in its key: what a server shows to one principal is not for another.
 */
export interface CredentialIdentity {
  tenantId: string;
  /** The space of the model or tool server that refers to it; null for the whole tenant. */
  spaceId: string | null;
  principalId: string;
  credentialId: string;
}

export interface CredentialUse extends CredentialIdentity {
  url: string;
}

export interface UsableCredential {
  /** Version of the value; part of the same cache keys. */
  version: number;
  /** The request header that carries it. */
  header: { name: string; value: string };
  /** The bearer token; null for another scheme. */
  token: string | null;
  /** All texts that must be masked in the server's answers. */
  secrets: readonly string[];
}

export type CredentialFailureCode =
  /** Not found, of another space or principal, or for another origin. */
  | 'missing'
  /** The token endpoint refuses the client. */
  | 'refused'
  /** The token endpoint does not answer. */
  | 'unreachable';

/** No request was sent to the address that needed the credential. The message holds no text from outside. */
export class CredentialFailure extends Error {
  readonly code: CredentialFailureCode;

  constructor(code: CredentialFailureCode) {
    super(code);
    this.name = 'CredentialFailure';
    this.code = code;
  }
}
