import {
  exchangeAuthorization,
  fetchToken,
  refreshAuthorization,
  type OAuthTokens,
} from '@modelcontextprotocol/client';
import type {
  AuthorizationCode,
  Grant,
  IssuedTokens,
} from '#domain/capabilities/connections/authorization-servers.ts';
import { clientAuthentication } from './client-authentication.ts';
import { translated, type Dialect } from './dialect.ts';
import type { DpopSessions } from './dpop-sessions.ts';
import { toIssuedTokens } from './issued-tokens.ts';
import { metadataOf } from './server-metadata.ts';
import type { Wire } from './wire.ts';

interface Request {
  grant: Grant;
  wire: Wire;
  sessions: DpopSessions;
  dialect: Dialect;
}

export function exchangeCode(request: Request, code: AuthorizationCode): Promise<IssuedTokens> {
  return issued(request, async () => {
    const { issuer, ...shared } = await sharedBy(request);
    return exchangeAuthorization(issuer, {
      ...shared,
      authorizationCode: code.code,
      codeVerifier: code.codeVerifier,
      redirectUri: code.redirectUri,
      ...(code.iss === null ? {} : { iss: code.iss }),
    });
  });
}

export function refreshTokens(request: Request, refreshToken: string): Promise<IssuedTokens> {
  return issued(request, async () => {
    const { issuer, ...shared } = await sharedBy(request);
    return refreshAuthorization(issuer, { ...shared, refreshToken });
  });
}

export function clientTokens(request: Request, scope: string | null): Promise<IssuedTokens> {
  return issued(request, async () => {
    const { issuer, clientInformation, addClientAuthentication, dpop, ...shared } = await sharedBy(request);
    const never = () => Promise.reject(new Error('A client that acts for itself has no person to redirect.'));
    return fetchToken(
      {
        redirectUrl: undefined,
        clientMetadata: { redirect_uris: [] },
        clientInformation: () => ({ ...clientInformation, issuer }),
        tokens: () => undefined,
        saveTokens: never,
        redirectToAuthorization: never,
        saveCodeVerifier: never,
        codeVerifier: never,
        addClientAuthentication,
        ...(dpop === undefined ? {} : { dpop: () => dpop }),
        prepareTokenRequest: () =>
          new URLSearchParams({
            grant_type: 'client_credentials',
            ...(scope === null ? {} : { scope }),
          }),
      },
      issuer,
      shared,
    );
  });
}

async function sharedBy({ grant: { target, client, dpopKey }, wire, sessions, dialect }: Request) {
  return {
    issuer: target.issuer,
    metadata: metadataOf(target),
    clientInformation: { client_id: client.clientId },
    addClientAuthentication: clientAuthentication(target, client),
    fetchFn: translated(wire.fetch, dialect),
    ...(target.resource === null ? {} : { resource: target.resource }),
    ...(dpopKey === null ? {} : { dpop: await sessions.of(dpopKey) }),
  };
}

/** A lifetime counts from the request: the answer may have been long on its way. */
async function issued({ grant }: Request, ask: () => Promise<OAuthTokens>): Promise<IssuedTokens> {
  const askedAt = Date.now();
  return toIssuedTokens(await ask(), { askedAt, isBound: grant.dpopKey !== null });
}
