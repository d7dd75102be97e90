import {
  ToolServerFailure,
  type ConnectionIdentity,
  type ToolServerSpec,
} from '#domain/capabilities/tools/tool-server.ts';
import {
  ConnectionUnavailable,
  type ConnectionSource,
  type UsableConnection,
} from '#domain/capabilities/connections/connection-source.ts';
import {
  CredentialFailure,
  type CredentialSource,
  type RetryRead,
} from '#domain/capabilities/credentials/credential-source.ts';
import { own } from '#domain/foundation/kernel/own.ts';

export interface CredentialOptions {
  /** `NAME@origin` and `NAME@origin#space_id` entries. */
  credentials: readonly string[];
  env: Record<string, string | undefined>;
  /** Source of the credentials that tenants have stored. */
  stored?: CredentialSource;
  /** Source of the tokens of connections. */
  connections?: ConnectionSource;
}

/** Headers that authenticate the platform to a server. */
export interface SentCredential {
  headers: Record<string, string>;
  /** Part of cache keys beside the server's own description: results that depend on the credential are stored apart. */
  identity: unknown;
  /** Values that are removed from the server's answers. */
  secrets: readonly string[];
  /** Where it is the token of a connection. */
  connection?: UsableConnection;
}

/**
 * Resolves a variable of the environment, or a stored credential. @throws ToolServerFailure; nothing was sent to the
 * server
 */
export async function credentialOf(
  server: ToolServerSpec,
  options: CredentialOptions,
  retryRead?: RetryRead,
): Promise<SentCredential> {
  if (server.connection !== undefined) {
    return connectedCredential(server.connection, options, retryRead);
  }
  if (server.stored === undefined) {
    const headers = serverCredential(server, options);
    return { headers, identity: headers, secrets: Object.values(headers) };
  }
  try {
    if (options.stored === undefined) {
      throw new CredentialFailure('missing');
    }
    const use = { ...server.stored, url: server.url };
    const { header, version, secrets } = await options.stored.read(use, retryRead);
    return { headers: { [header.name]: header.value }, identity: { version }, secrets };
  } catch (error) {
    throw error instanceof CredentialFailure
      ? new ToolServerFailure(failureOf[error.code], { sent: false })
      : error;
  }
}

async function connectedCredential(
  identity: ConnectionIdentity,
  { connections }: CredentialOptions,
  retryRead?: RetryRead,
): Promise<SentCredential> {
  const usable = (await withConnections(() => connections?.read(identity, retryRead))) ?? null;
  if (usable === null) {
    throw new ToolServerFailure('authorization_required', { sent: false });
  }
  return tokenCredential(usable);
}

/** @throws ToolServerFailure `authorization_unavailable`, which a repetition within seconds would not change */
export async function withConnections<T>(work: () => T): Promise<Awaited<T>> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof ConnectionUnavailable
      ? new ToolServerFailure('authorization_unavailable', { sent: false })
      : error;
  }
}

export function tokenCredential(connection: UsableConnection): SentCredential {
  const { accessToken, connectionId } = connection;
  return {
    headers: { Authorization: `Bearer ${accessToken}` },
    // A refreshed token is of the same account: sessions and lists stay good.
    identity: { connectionId },
    secrets: [`Bearer ${accessToken}`, accessToken],
    connection,
  };
}

const failureOf = {
  missing: 'credential_missing',
  refused: 'unauthorized',
  unreachable: 'unreachable',
} as const;

/**
 * The header that carries a server's credential. The value is a variable of the environment that the operator bound to
 * one origin: a principal who may connect servers cannot send it anywhere else. `NAME@origin#space_id` lets one space
 * use it, `NAME@origin` every space of every tenant.
 * @throws ToolServerFailure `credential_missing`
 */
export function serverCredential(server: ToolServerSpec, options: CredentialOptions): Record<string, string> {
  const { credentialRef: ref, credentialHeader: header } = server;
  if (ref === null) {
    return {};
  }
  const usable = options.credentials.some((entry) => {
    const [name = '', ...origin] = entry.split('@');
    const bound = URL.parse(origin.join('@'));
    return (
      name === ref &&
      bound?.origin === new URL(server.url).origin &&
      (bound.hash === '' || bound.hash === `#${server.spaceId}`)
    );
  });
  const value = usable ? own(options.env, ref) : undefined;
  if (value === undefined || value === '') {
    throw new ToolServerFailure('credential_missing', { sent: false });
  }
  return header === null || header.toLowerCase() === 'authorization'
    ? { Authorization: `Bearer ${value}` }
    : { [header]: value };
}
