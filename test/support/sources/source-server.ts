import type { CredentialValue } from '#domain/capabilities/credentials/credential-value.ts';

/**
 * A real server of one provider with documents in it, as the tests of sources and of whole runs use it. Names are paths
 * such as `folder/a.md`; what they become at the source is the server's business.
 */
export interface SourceServer {
  slug: string;
  scopeConfig: Record<string, unknown>;
  /** Null: the provider needs none. */
  credential: { origin: string; value: CredentialValue } | null;
  /** What an operator lists for it in `EGRESS_ALLOW`. */
  allowedOrigins: readonly string[];
  /** What an operator lists for it in `CONNECTOR_ROOTS`. */
  roots: Readonly<Record<string, string>>;
  /** Adds or changes a document. */
  put(name: string, content: string | Uint8Array): Promise<void>;
  move(from: string, to: string): Promise<void>;
  remove(name: string): Promise<void>;
  /** Makes the current credential invalid at the server, and returns a working one. */
  renewCredential?(): Promise<CredentialValue>;
  /** Requests or commands that the server has answered. */
  requests(): number;
  /** The server does not answer between the two. */
  stop(): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
}
