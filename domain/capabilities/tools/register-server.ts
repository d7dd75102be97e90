import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { spaceOf } from '#domain/foundation/access/space-of.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { claimKey, type IdempotentRequest } from '#domain/foundation/idempotency/idempotency.ts';
import { cleanText } from '#domain/foundation/kernel/clean-text.ts';
import { DomainError, invalid } from '#domain/foundation/kernel/errors.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { mapUniqueViolation } from '#domain/foundation/persistence/map-unique-violation.ts';
import { requireUsable } from '#domain/capabilities/credentials/usable-credential.ts';
import { applyConnectionSettings, type ConnectionSettings } from './connection-settings.ts';
import { findServer, type ServerWithTools } from './find-server.ts';
import { McpServer } from './mcp-server.entity.ts';
import { enqueueDiscovery } from './enqueue-discovery.ts';
import { slugPattern } from './tool-names.ts';

export interface RegisterServer {
  slug: string;
  displayName: string;
  transportType: string;
  url: string;
  iconUrl: string | null;
  credential: { ref: string; header: string | null } | null;
  /** A stored credential, used instead. */
  credentialId?: string | null;
  connection?: ConnectionSettings;
  idempotency: IdempotentRequest | null;
}

/**
 * Connects a space to a tool server. A workflow discovers its tools; each is disabled until a caller enables it.
 * @throws `missing_permission`, `transport_not_allowed`, `url_not_allowed`, `already_exists`, `invalid_request`, and
 *   the refusals of `claimKey`.
 */
export async function registerServer(
  ctx: Context,
  input: RegisterServer,
): Promise<ServerWithTools & { replayed: boolean }> {
  authorize(ctx.caller, 'mcp_servers.create');
  const id = newId();
  const claimed = input.idempotency === null ? id : await claimKey(ctx, input.idempotency, id);
  if (claimed !== id) {
    return { ...(await findServer(ctx, claimed)), replayed: true };
  }
  if (input.transportType !== 'streamable_http') {
    throw new DomainError('transport_not_allowed', 'Tool servers are reached by streamable_http only.', {
      param: 'transport_type',
    });
  }
  const spaceId = spaceOf(ctx.caller);
  if (!slugPattern.test(input.slug)) {
    throw invalid('slug', 'slug must be 1 to 24 lower-case letters, digits and inner hyphens.');
  }
  const [url, credentialId] = [serverUrl(input.url), input.credentialId ?? null];
  if (credentialId !== null) {
    if (input.credential !== null) {
      throw invalid('credential_id', 'A server has either auth or credential_id.');
    }
    await requireServerCredential(ctx, { credentialId, spaceId, url });
  }
  const server = ctx.em.create(McpServer, {
    tenantId: ctx.caller.tenantId,
    id,
    spaceId,
    slug: input.slug,
    displayName: requireName(input.displayName),
    url,
    iconUrl: input.iconUrl,
    credentialRef: input.credential?.ref ?? null,
    credentialHeader: input.credential?.header ?? null,
    credentialId,
    connectionMode: 'none',
    enabledTools: [],
    createdBy: ctx.caller.principalId,
  });
  await applyConnectionSettings(ctx, server, input.connection ?? {});
  const taken = mapUniqueViolation('This space has a tool server with this slug.', 'slug');
  await ctx.em.persist(server).flush().catch(taken);
  await enqueueDiscovery(ctx, server);
  await recordEvent(ctx.em, ctx.caller, {
    type: 'space.mcp_server_added',
    resource: { type: 'mcp_server', id },
    metadata: { space_id: spaceId, slug: server.slug },
  });
  return { server, tools: [], replayed: false };
}

/** Checks that the credential can be used for a tool server. @throws `invalid_request` naming `credential_id` */
export function requireServerCredential(
  ctx: Context,
  reference: { credentialId: string; spaceId: string; url: string },
): Promise<void> {
  return requireUsable(ctx, { ...reference, kinds: ['bearer', 'header', 'basic', 'oauth2_client'] });
}

export function requireName(text: string): string {
  const name = cleanText(text).trim();
  if (name === '' || name.length > 200) {
    throw invalid('display_name', 'display_name must have 1 to 200 characters.');
  }
  return name;
}

/** Egress rules for the address are checked when a connection is opened. */
function serverUrl(text: string): string {
  const url = URL.parse(text);
  const plain = url !== null && url.username === '' && url.password === '' && url.hash === '';
  if (!plain || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new DomainError('url_not_allowed', 'url must be an http(s) address without credentials.', {
      param: 'url',
    });
  }
  return url.href;
}
