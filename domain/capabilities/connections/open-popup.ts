import type { EntityManager } from '@mikro-orm/postgresql';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { sealField } from '#domain/foundation/secrets/seal-field.ts';
import { requireOpenTenant } from '#domain/identity/sign-in/require-open-tenant.ts';
import { McpServer } from '#domain/capabilities/tools/mcp-server.entity.ts';
import { csrfOf, hashFor, isNonce, newSecret } from './attempt-secrets.ts';
import { AuthorizationAttempt, attemptPlace } from './authorization-attempt.entity.ts';
import { AuthorizationFailure, type BegunAuthorization, type OAuthClient } from './authorization-servers.ts';
import type { ConnectionParts } from './connection-parts.ts';
import type { AttemptFailure } from './connection-status.ts';
import { failAttempt, reasonOf } from './end-attempt.ts';
import { locateAttempt, noAttempt, type CookieOf } from './locate-attempt.ts';
import { openClient } from './open-client.ts';
import { endAddress, type PopupEnd } from './popup-end.ts';

/** What the popup asks the person. */
export interface PopupQuestion {
  attemptId: string;
  kind: 'tool server' | 'source';
  /** Of the tool server or the source. */
  name: string;
  host: string;
  issuerHost: string;
  /** Where the browser is sent, which the metadata may name anywhere. */
  authorizationHost: string;
  /** For which the tokens are asked; null: the server names none. */
  resource: string | null;
  owner: 'personal' | 'shared';
  scopes: string[];
  redirectHost: string;
  /** Comes back with the answer. */
  csrf: string;
  /** Of this browser; the same on every visit. */
  cookie: string;
}

interface Visit {
  nonce: string;
  cookieOf: CookieOf;
}

/**
 * Shows the question to the first browser that opens the nonce, and to no other one.
 * @throws `authorization_attempt_not_found`, `tenant_suspended`, `tenant_deleting`
 */
export async function openPopup(parts: ConnectionParts, visit: Visit): Promise<PopupQuestion> {
  const place = await locate(parts, visit.nonce);
  return parts.unitOfWork.inTenant(place.tenantId, async (em) => {
    await requireOpenTenant(em, place.tenantId);
    const cookie = visit.cookieOf(place.id) ?? newSecret();
    const cookieHash = hashFor(parts.secrets, 'cookie', cookie);
    await em.nativeUpdate(
      AuthorizationAttempt,
      { id: place.id, stage: 'begun', expiresAt: { $gt: await databaseNow(em) } },
      { stage: 'opened', cookieHash },
    );
    const attempt = await findOpened(em, parts, { ...place, cookie });
    const { name, url } = await holderOf(em, attempt);
    return {
      attemptId: attempt.id,
      kind: attempt.target.source === undefined ? 'tool server' : 'source',
      name,
      host: new URL(url).host,
      issuerHost: new URL(attempt.issuer).host,
      authorizationHost: new URL(String(attempt.target.metadata['authorization_endpoint'])).host,
      resource: attempt.target.resource,
      owner: attempt.ownerId == null ? 'shared' : 'personal',
      scopes: (attempt.scope ?? '').split(' ').filter((scope) => scope !== ''),
      redirectHost: new URL(attempt.redirectUri).host,
      csrf: csrfOf(parts.secrets, { id: attempt.id, cookie }),
      cookie,
    };
  });
}

/** What the account is for. @throws `authorization_attempt_not_found` */
async function holderOf(
  em: EntityManager,
  { serverId = null, target: { source } }: AuthorizationAttempt,
): Promise<{ name: string; url: string }> {
  if (source !== undefined) {
    return { name: source.title, url: source.origin };
  }
  const server = await em.findOne(McpServer, { id: serverId });
  // The server may be deleted while the popup opens, which ends the attempt.
  if (server === null) {
    throw noAttempt();
  }
  return { name: server.displayName, url: server.url };
}

/**
 * The person's answer: the address at the authorization server, or back at the client.
 * @throws `authorization_attempt_not_found`, `tenant_suspended`, `tenant_deleting`
 */
export async function answerPopup(
  parts: ConnectionParts,
  { csrf, accepts, requestId, ...visit }: Visit & { csrf: string; accepts: boolean; requestId: string },
): Promise<PopupEnd> {
  const place = await locate(parts, visit.nonce);
  const cookie = visit.cookieOf(place.id);
  if (cookie === null || csrf !== csrfOf(parts.secrets, { id: place.id, cookie })) {
    throw noAttempt();
  }
  return parts.unitOfWork.inTenant(place.tenantId, async (em) => {
    await requireOpenTenant(em, place.tenantId);
    const work = { em, secrets: parts.secrets };
    const attempt = await findOpened(em, parts, { ...place, cookie });
    const origin = { via: 'api' as const, requestId };
    const refuse = async (reason: AttemptFailure) => {
      await failAttempt(em, attempt.id, { reason, origin });
      return { attemptId: attempt.id, isOver: true, address: endAddress(attempt, { error: reason }) };
    };
    if (!accepts) {
      return refuse('cancelled');
    }
    const client = await openClient(work, attempt, attempt.target);
    if (client === null) {
      return refuse('client_rejected');
    }
    const state = newSecret();
    const begun = await beginAt(parts, attempt, { client, state });
    if (begun instanceof AuthorizationFailure) {
      return refuse(reasonOf(begun.code));
    }
    const continued = await em.nativeUpdate(
      AuthorizationAttempt,
      { id: attempt.id, stage: 'opened' },
      {
        stage: 'continued',
        stateHash: hashFor(parts.secrets, 'state', state),
        scope: begun.scope,
        verifier: await sealField(work, attemptPlace(attempt, 'verifier'), begun.codeVerifier),
      },
    );
    if (continued === 0) {
      throw noAttempt();
    }
    return { attemptId: attempt.id, isOver: false, address: begun.url };
  });
}

/** Sends no request. */
async function beginAt(
  { authorizationServers }: ConnectionParts,
  attempt: AuthorizationAttempt,
  { client, state }: { client: OAuthClient; state: string },
): Promise<BegunAuthorization | AuthorizationFailure> {
  const { target, callbackUri: redirectUri } = attempt;
  try {
    // Scopes that a refused call needed are asked for like those that were granted.
    const request = { scope: target.scope, grantedScope: attempt.scope ?? null };
    return await authorizationServers.begin({ target, client, redirectUri, state, ...request });
  } catch (error) {
    if (error instanceof AuthorizationFailure) {
      return error;
    }
    throw error;
  }
}

async function locate(parts: ConnectionParts, nonce: string): Promise<{ tenantId: string; id: string }> {
  const place = isNonce(parts.secrets, nonce) ? await locateAttempt(parts, 'nonce', nonce) : null;
  if (place === null) {
    throw noAttempt();
  }
  return place;
}

async function findOpened(
  em: EntityManager,
  { secrets }: ConnectionParts,
  { id, cookie }: { id: string; cookie: string },
): Promise<AuthorizationAttempt> {
  const attempt = await em.findOne(AuthorizationAttempt, {
    id,
    stage: 'opened',
    cookieHash: hashFor(secrets, 'cookie', cookie),
    expiresAt: { $gt: await databaseNow(em) },
  });
  if (attempt === null) {
    throw noAttempt();
  }
  return attempt;
}
