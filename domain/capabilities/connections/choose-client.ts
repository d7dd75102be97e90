import { DomainError } from '#domain/foundation/kernel/errors.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { sealField } from '#domain/foundation/secrets/seal-field.ts';
import { AuthorizationClient, secretPlace } from './authorization-client.entity.ts';
import {
  AuthorizationFailure,
  type AuthorizationTarget,
  type RegisteredClient,
} from './authorization-servers.ts';
import { clientMetadata, hasPublicDocument } from './client-metadata.ts';
import {
  callbackUri,
  clientDocumentUrl,
  issuerKey,
  type ConnectionParts,
  type ConnectionSettings,
} from './connection-parts.ts';
import { boundedUnion, unionOf } from './scopes.ts';

/** A secret that ends so soon would end before its first use. */
const secretMargin = '10 minutes';
/** The least time between two registrations at one authorization server. */
const againSeconds = 60;

/**
 * The id of the client to use at an authorization server: the registered one, else the document that the
 * platform publishes, else a new registration. Some servers grant only registered scopes: a registration that may lack one
 * that will be asked for gets a successor with all scopes of both, and stays where the server refuses any of them.
 * @param options.scope what will be asked for
 * @param options.registersAgain in place of a registration that the authorization server's page no longer knows: it stays
 *   in use until its successor is registered, and present connections go on with it
 * @throws AuthorizationFailure `client_required` where the server offers neither; `rate_limited` for another registration
 *   within a minute
 */
export async function chooseClient(
  parts: ConnectionParts,
  settings: ConnectionSettings,
  target: AuthorizationTarget,
  {
    scope,
    signal,
    registersAgain = false,
  }: { scope: string | null; signal: AbortSignal; registersAgain?: boolean },
): Promise<string> {
  requireOneOrigin(target);
  const known = await findUsable(parts, settings, target);
  const documentUrl = clientDocumentUrl(settings, issuerKey(target.issuer));
  // The operator may publish the documents elsewhere by now; present connections go on with the earlier one.
  const isMoved = known?.kind === 'metadata_document' && known.clientId !== documentUrl;
  const lacksScopes = known !== null && !namesScopes(known, scope) && target.registersClients;
  // A document is read again by each authorization request: there is nothing to register.
  if (known !== null && !isMoved && !lacksScopes && !(registersAgain && known.kind === 'dynamic')) {
    return known.id;
  }
  if (known?.isFresh === true && !isMoved && !lacksScopes) {
    throw new DomainError(
      'rate_limited',
      'The platform has registered at this authorization server just now.',
      {
        retryAfter: againSeconds,
      },
    );
  }
  if (target.acceptsClientDocuments && hasPublicDocument(settings)) {
    const client = publicClient(documentUrl);
    const id = await save(parts, settings, { target, kind: 'metadata_document', client, replaces: known });
    return id ?? (await chooseClient(parts, settings, target, { scope, signal }));
  }
  if (!target.registersClients) {
    throw new AuthorizationFailure('client_required', { sent: false });
  }
  const wanted = { issuer: target.issuer, scope: boundedUnion(scope, known?.scope) };
  const keepsKnown = lacksScopes && !registersAgain;
  try {
    const metadata = { ...clientMetadata(settings, wanted), mayLackScopes: !keepsKnown };
    const client = await parts.authorizationServers.register(target, metadata, signal);
    const id = await save(parts, settings, { target, kind: 'dynamic', client, replaces: known });
    return id ?? (await chooseClient(parts, settings, target, { scope, signal }));
  } catch (error) {
    if (keepsKnown && error instanceof AuthorizationFailure) return known.id;
    throw error;
  }
}

function namesScopes({ kind, scope: registered }: UsableClient, scope: string | null): boolean {
  const isUnlimited = kind !== 'dynamic' || registered === null;
  return isUnlimited || unionOf(registered, boundedUnion(scope)) === unionOf(registered);
}

/**
 * The callback of an issuer guards against codes of other issuers; this guards against an issuer that has another one
 * issue codes for its own callback. Metadata of a hostile server may name the authorization endpoint of another one, and
 * a token endpoint of its own that would be sent the code of the other. A client that anybody may be is used only where
 * the response says who issued it, or where both endpoints have one origin; a stored client is bound to its token
 * endpoint.
 */
function requireOneOrigin({ metadata }: AuthorizationTarget): void {
  const originOf = (endpoint: unknown) => URL.parse(String(endpoint))?.origin;
  const isOne = originOf(metadata['authorization_endpoint']) === originOf(metadata['token_endpoint']);
  if (!isOne && metadata['authorization_response_iss_parameter_supported'] !== true) {
    throw new AuthorizationFailure('client_required', { sent: false });
  }
}

function publicClient(clientId: string): RegisteredClient {
  const none = { clientSecret: null, privateKey: null, secretExpiresAt: null, scope: null };
  return { clientId, authMethod: 'none', ...none };
}

interface UsableClient {
  id: string;
  kind: AuthorizationClient['kind'];
  clientId: string;
  /** See `AuthorizationClient`. */
  scope: string | null;
  /** It was registered within the last minute. */
  isFresh: boolean;
}

async function findUsable(
  { unitOfWork }: ConnectionParts,
  settings: ConnectionSettings,
  { tenantId, issuer }: AuthorizationTarget,
): Promise<UsableClient | null> {
  return unitOfWork.inTenant(tenantId, async (em) => {
    const place = [issuer, callbackUri(settings, issuer)];
    // A client whose secret has expired makes room for its successor.
    await em.execute(
      `update authorization_clients set rejected_at = now()
       where issuer = ? and redirect_uri = ? and rejected_at is null
         and secret_expires_at < now() + interval '${secretMargin}'`,
      place,
    );
    const [row] = await em.execute<UsableClient[]>(
      `select id, kind, client_id as "clientId", scope,
         created_at > now() - interval '${againSeconds} seconds' as "isFresh"
       from authorization_clients where issuer = ? and redirect_uri = ? and rejected_at is null`,
      place,
    );
    return row ?? null;
  });
}

/**
 * Of two concurrent registrations the first takes the place of the registration that both have seen. @returns null for the
 * second, which chooses again: the first need not name its scopes
 */
async function save(
  parts: ConnectionParts,
  settings: ConnectionSettings,
  {
    target,
    kind,
    client,
    replaces,
  }: {
    target: AuthorizationTarget;
    kind: AuthorizationClient['kind'];
    client: RegisteredClient;
    replaces: UsableClient | null;
  },
): Promise<string | null> {
  const { tenantId, issuer } = target;
  const id = newId();
  const saved = await parts.unitOfWork.inTenant(tenantId, async (em) => {
    const work = { em, secrets: parts.secrets };
    const secret =
      client.clientSecret === null
        ? null
        : await sealField(work, secretPlace({ tenantId, id }), client.clientSecret);
    if (replaces !== null) {
      const seen = { id: replaces.id, rejectedAt: null };
      await em.nativeUpdate(AuthorizationClient, seen, { rejectedAt: new Date() });
    }
    const rows = await em.execute<{ id: string }[]>(
      `insert into authorization_clients
         (tenant_id, id, issuer, redirect_uri, kind, client_id, auth_method, secret, secret_expires_at, scope)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict do nothing returning id`,
      [
        tenantId,
        id,
        issuer,
        callbackUri(settings, issuer),
        kind,
        client.clientId,
        client.authMethod,
        secret,
        client.secretExpiresAt,
        client.scope,
      ],
    );
    return rows.length > 0;
  });
  return saved ? id : null;
}

/** The authorization server no longer knows the client: the next attempt registers another one. */
export async function rejectClient(
  parts: Pick<ConnectionParts, 'unitOfWork'>,
  { tenantId, clientId }: { tenantId: string; clientId?: string | null | undefined },
): Promise<void> {
  if (clientId != null) {
    await parts.unitOfWork.inTenant(tenantId, (em) =>
      em.nativeUpdate(AuthorizationClient, { id: clientId, rejectedAt: null }, { rejectedAt: new Date() }),
    );
  }
}
