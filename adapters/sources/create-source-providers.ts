import type { ConnectionSource } from '#domain/capabilities/connections/connection-source.ts';
import {
  CredentialFailure,
  type CredentialSource,
  type CredentialUse,
} from '#domain/capabilities/credentials/credential-source.ts';
import type { OpenedCredential } from '#domain/capabilities/credentials/open-credential.ts';
import type { ToolServerSpec } from '#domain/capabilities/tools/tool-server.ts';
import type { SourceProviders, SourceUse } from '#domain/knowledge/connectors/source-providers.ts';
import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import { DpopSessions } from '../authorization/dpop-sessions.ts';
import { boundedFetch, type BoundedFetchOptions } from '../egress/bounded-fetch.ts';
import { ConnectedAccount, connectedSource } from './connected-source.ts';
import { createSourceCatalogue } from './create-source-catalogue.ts';
import type { SourceAccess, SourceProvider } from './provider.ts';
import { usableServer } from './usable-server.ts';

export interface SourceOptions extends BoundedFetchOptions, Pick<SourceAccess, 'connect' | 'roots'> {
  /** Opens a stored credential in its tenant; null where it may not be used. */
  openCredential: (use: CredentialUse) => Promise<OpenedCredential | null>;
  /** Tokens of `oauth2_client` credentials. */
  stored: CredentialSource;
  /** Tokens of connected accounts; omitted: no account can be used. */
  connections?: ConnectionSource;
  providers?: readonly SourceProvider[];
}

export function createSourceProviders(options: SourceOptions): SourceProviders {
  const catalogue = createSourceCatalogue(options.providers);
  const proofs = new DpopSessions();
  return {
    ...catalogue,
    open: async (use) => {
      const provider = catalogue.provider(use.providerSlug);
      const scope = provider.scope.parse(use.scopeConfig);
      const server = use.toolServer == null ? null : usableServer(use.toolServer);
      const { origin } = provider.endpoint(scope, server?.url);
      const account = accountOf(options, use, { origin, server });
      const access = await accessFor(options, use, { origin, account, server });
      const source = await provider.open(scope, account === null ? access : proving(access, account, proofs));
      return account === null ? source : connectedSource(source, account);
    },
  };
}

interface Reached {
  /** To which credentials are bound. */
  origin: string | null;
  /** The connected tool server, with the credential that it has now. */
  server: ToolServerSpec | null;
}

/** @throws SourceFailure where accounts cannot be connected */
function accountOf(
  { connections }: SourceOptions,
  { tenantId, connectorId, clientCredentialId = null }: SourceUse,
  { origin, server }: Reached,
): ConnectedAccount | null {
  if (clientCredentialId === null && server?.connection === undefined) {
    return null;
  }
  if (connections === undefined || origin === null) {
    throw credentialFailure('missing');
  }
  return new ConnectedAccount(connections, server?.connection ?? { tenantId, connectorId, origin });
}

function proving(access: SourceAccess, account: ConnectedAccount, proofs: DpopSessions): SourceAccess {
  const prove = (fetch: SourceAccess['fetch']) => account.proving(fetch, proofs);
  return { ...access, fetch: prove(access.fetch), stream: prove(access.stream) };
}

/** The credential is read once for each opened source: a rotation takes effect with the next slice of a run. */
async function accessFor(
  options: SourceOptions,
  use: SourceUse,
  { origin, account, server }: Reached & { account: ConnectedAccount | null },
): Promise<SourceAccess> {
  const { tenantId, spaceId, principalId } = use;
  const credentialId = server === null ? use.credentialId : (server.stored?.credentialId ?? null);
  const stored: CredentialUse | null =
    credentialId === null || origin === null
      ? null
      : { tenantId, spaceId, principalId, credentialId, url: origin };
  const opened = stored === null ? null : await options.openCredential(stored);
  if (credentialId !== null && opened === null) {
    throw credentialFailure('missing');
  }
  return {
    use,
    fetch: boundedFetch('source', options),
    stream: boundedFetch('change_stream', options),
    connect: options.connect,
    roots: options.roots,
    ...(server === null ? {} : { serverUrl: server.url }),
    credential: opened?.value ?? null,
    isConnected: account !== null,
    bearer: async () => {
      if (account !== null) {
        return account.token();
      }
      if (stored === null) {
        throw credentialFailure('missing');
      }
      try {
        const { token } = await options.stored.read(stored);
        if (token !== null) {
          return token;
        }
      } catch (error) {
        throw error instanceof CredentialFailure ? credentialFailure(error.code) : error;
      }
      throw credentialFailure('missing');
    },
  };
}

function credentialFailure(code: CredentialFailure['code']): SourceFailure {
  return code === 'unreachable'
    ? new SourceFailure('source_unreachable', 'The token endpoint of the credential does not answer.')
    : new SourceFailure(
        'auth_failed',
        'The credential may not be used here: it is gone, of another space, or for another origin.',
      );
}
