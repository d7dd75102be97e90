/** The port to the values of stored credentials; its implementation stands in adapters/credentials. */
export interface CredentialSource {
  /**
   * The credential as it is now, for one request to `url`.
   * @throws CredentialFailure
   */
  read(use: CredentialUse): Promise<UsableCredential>;
  /** The server refused what was read: what is kept of it is not used again. */
  refused(identity: CredentialIdentity): void;
}

/**
 * Which credential is used, and for whom. All of it belongs into the key of every cache that holds what came of using
 * it: what a server shows to one is not for another.
 */
export interface CredentialIdentity {
  tenantId: string;
  /** Of what refers to it; null for what belongs to the whole tenant. */
  spaceId: string | null;
  principalId: string;
  credentialId: string;
}

export interface CredentialUse extends CredentialIdentity {
  url: string;
}

export interface UsableCredential {
  /** Counts the values that it has had: belongs into the same keys. */
  version: number;
  /** The header that carries it. */
  header: { name: string; value: string };
  /** What stands behind `Bearer` there; null for what is sent another way. */
  token: string | null;
  /** All that must not come back from the server. */
  secrets: readonly string[];
}

export type CredentialFailureCode =
  /** Not there, of another space or person, or for another origin. */
  | 'missing'
  /** The token endpoint refuses the client. */
  | 'refused'
  /** The token endpoint does not answer. */
  | 'unreachable';

/** Nothing was sent to the address that the credential was wanted for. Carries no word of anybody's. */
export class CredentialFailure extends Error {
  readonly code: CredentialFailureCode;

  constructor(code: CredentialFailureCode) {
    super(code);
    this.name = 'CredentialFailure';
    this.code = code;
  }
}
