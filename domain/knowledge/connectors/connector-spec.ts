import type { EntityManager } from '@mikro-orm/postgresql';
import type { Context } from '#domain/foundation/access/context.ts';
import type { AuthorizationTarget } from '#domain/capabilities/connections/authorization-servers.ts';
import { openClient } from '#domain/capabilities/connections/open-client.ts';
import { requireUsable } from '#domain/capabilities/credentials/usable-credential.ts';
import { readSpaceServer, requireSpaceServer } from '#domain/capabilities/tools/space-server.ts';
import { invalid } from '#domain/foundation/kernel/errors.ts';
import type { Connector } from './connector.entity.ts';
import type { ProviderDescription, SourceCatalogue, SourceUse } from './source-providers.ts';

export interface GivenSource {
  providerSlug: string;
  scopeConfig: unknown;
  credentialId: string | null;
  /** The client with which an account is connected; omitted or null: none is. */
  clientCredentialId?: string | null | undefined;
}

/** Max characters of a scope as JSON. */
const maxScope = 65_536;

/**
 * The scope in its normal form, with a credential, or a tool server, that may be used for it.
 * @throws `invalid_request` naming `provider_slug`, a field of `scope_config`, `credential_id` or
 *   `client_credential_id`, `unknown_parameter` for a field of `scope_config`, `missing_permission` for a tool server
 */
export async function requireSource(
  ctx: Context,
  providers: SourceCatalogue,
  { providerSlug, scopeConfig, credentialId, clientCredentialId = null }: GivenSource,
  spaceId: string,
): Promise<unknown> {
  const provider = requireProvider(providers, providerSlug);
  if (JSON.stringify(scopeConfig).length > maxScope) {
    throw invalid('scope_config', `scope_config must have at most ${maxScope} characters.`);
  }
  const scope = providers.parseScope(providerSlug, scopeConfig);
  rejectUserInformation(scope, 'scope_config');
  const serverId = providers.serverId(providerSlug, scope);
  if (serverId !== null) {
    if (credentialId !== null || clientCredentialId !== null) {
      const param = credentialId === null ? 'client_credential_id' : 'credential_id';
      throw invalid(param, 'A connected tool server is read with its own credential.');
    }
    await requireSpaceServer(ctx, { serverId, spaceId }, 'scope_config.server_id');
    return scope;
  }
  const { origin } = providers.endpoint(providerSlug, scope);
  if (clientCredentialId !== null) {
    if (credentialId !== null) {
      throw invalid('client_credential_id', 'A connector has either a connection or a credential.');
    }
    const target = providers.authorization(providerSlug, scope, ctx.caller.tenantId);
    await requireClient(ctx, target, { credentialId: clientCredentialId, spaceId });
  } else if (credentialId === null) {
    if (provider.credentialRequired) {
      throw invalid('credential_id', `credential_id is needed: a credential of kind ${kindsOf(provider)}.`);
    }
  } else if (provider.credentialKinds.length === 0 || origin === null) {
    throw invalid('credential_id', `The provider ${providerSlug} takes no credential.`);
  } else {
    await requireUsable(ctx, { credentialId, spaceId, url: origin, kinds: provider.credentialKinds });
  }
  return scope;
}

/** @throws `invalid_request` naming `client_credential_id` */
async function requireClient(
  ctx: Context,
  target: AuthorizationTarget | null,
  { credentialId, spaceId }: { credentialId: string; spaceId: string },
): Promise<void> {
  const param = 'client_credential_id';
  if (target?.source === undefined) {
    throw invalid(param, 'No account can be connected for this provider at this address.');
  }
  const { origin: url } = target.source;
  await requireUsable(ctx, { credentialId, spaceId, url, kinds: ['oauth2_client'] }).catch(() => {
    throw invalid(
      param,
      'client_credential_id names no credential of kind oauth2_client for the origin of this source.',
    );
  });
  const client = await openClient(
    ctx,
    { tenantId: ctx.caller.tenantId, spaceId, clientCredentialId: credentialId },
    target,
  );
  if (client === null) {
    const endpoint = String(target.metadata['token_endpoint']);
    const where = `the token_url ${endpoint} or the issuer ${target.issuer}`;
    throw invalid(param, `The client of client_credential_id must have ${where}.`);
  }
}

export function requireProvider(providers: SourceCatalogue, slug: string): ProviderDescription {
  const provider = providers.find(slug);
  if (provider === null) {
    const known = providers.list().map((each) => each.slug);
    throw invalid('provider_slug', `provider_slug must be one of ${known.join(', ')}.`);
  }
  return provider;
}

const kindsOf = ({ credentialKinds }: ProviderDescription): string => credentialKinds.join(' or ');

/** A scope is shown to everybody who may read connectors: passwords belong into a credential. */
function rejectUserInformation(value: unknown, at: string): void {
  if (typeof value === 'string') {
    if (hasUserInformation(value)) {
      throw invalid(at, `${at} must not hold a user's name or password in an address: store a credential.`);
    }
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, member] of Object.entries(value)) {
      rejectUserInformation(member, `${at}.${name}`);
    }
  }
}

/** Protocols whose addresses name an account without a secret, such as `ssh://git@host`. */
const namingAccounts = new Set(['ssh:', 'sftp:']);

function hasUserInformation(text: string): boolean {
  const url = text.includes('://') ? URL.parse(text.trim()) : null;
  return url !== null && (url.password !== '' || (url.username !== '' && !namingAccounts.has(url.protocol)));
}

type Identity = Pick<Connector, 'tenantId' | 'id' | 'spaceId' | 'principalId' | 'providerSlug'>;
type Settings = Pick<Connector, 'scopeConfig' | 'credentialId' | 'clientCredentialId'>;

/** The source of a connector, with settings that may not be stored yet, and with its tool server as it is now. */
export async function sourceOf(
  em: EntityManager,
  providers: SourceCatalogue,
  connector: Identity,
  { scopeConfig, credentialId = null, clientCredentialId = null }: Settings,
): Promise<SourceUse> {
  const { tenantId, id: connectorId, spaceId, principalId, providerSlug } = connector;
  const serverId = providers.serverId(providerSlug, scopeConfig);
  const toolServer = serverId === null ? null : await readSpaceServer(em, { serverId, spaceId, principalId });
  const identity = { tenantId, spaceId, principalId, connectorId, providerSlug };
  return { ...identity, scopeConfig, credentialId, clientCredentialId, toolServer };
}
