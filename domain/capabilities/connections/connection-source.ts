import type { RetryRead } from '#domain/capabilities/credentials/credential-source.ts';
import type { HolderIdentity } from './find-connection.ts';

/** The tokens of connections, as tool servers and sources use them; implemented by `useConnections`. */
export interface ConnectionSource {
  /**
   * The token for one request; it is refreshed if it is about to expire.
   * @returns null where there is no connection that can be used: a person has to make one
   * @throws ConnectionUnavailable
   */
  read(identity: HolderIdentity, retryRead?: RetryRead): Promise<UsableConnection | null>;
  /**
   * Reports that the server refused a token, which is refreshed once.
   * @returns the token to use instead; null as with `read`
   * @throws ConnectionUnavailable
   */
  renew(identity: HolderIdentity, refused: UsableConnection): Promise<UsableConnection | null>;
  /** Reports that the server refused a token which had just been refreshed: the connection ends. */
  refuse(identity: HolderIdentity, refused: UsableConnection): Promise<void>;
  /** Reports that a call needs scopes which were not granted. */
  needScope(identity: HolderIdentity, refused: UsableConnection, scope: string | null): Promise<void>;
}

export interface UsableConnection {
  /** Part of the keys of every cache of results that were obtained with it. */
  connectionId: string;
  generation: number;
  accessToken: string;
  tokenType: 'Bearer' | 'DPoP';
  dpopKey: Record<string, unknown> | null;
}

/** The authorization server does not answer; the connection itself may be good. The message holds no text from outside. */
export class ConnectionUnavailable extends Error {}
