import { createAuthorizationServers } from '#adapters/authorization/authorization-servers.ts';
import { challengeIn } from '#adapters/authorization/challenge.ts';
import { createGuardedFetch } from '#adapters/egress/guarded-fetch.ts';
import type {
  AuthorizationServers,
  AuthorizationTarget,
  Grant,
  IssuedTokens,
  OAuthClient,
  Registration,
} from '#domain/capabilities/connections/authorization-servers.ts';
import type { Decision } from './browser-part.ts';

export const never = new AbortController().signal;
export const redirectUri = 'http://127.0.0.1:9/callback';
export const clientMetadata: Registration = {
  clientName: 'Platform',
  clientUri: 'https://platform.example.com',
  redirectUris: [redirectUri],
  scope: null,
  mayLackScopes: true,
};

/** The adapter, which may reach these origins of this machine. */
export function serversFor(...origins: string[]): AuthorizationServers {
  return createAuthorizationServers({ fetch: createGuardedFetch(origins) });
}

/** A client that exists without a registration. */
export function knownClient(client: Partial<OAuthClient> & { clientId: string }): OAuthClient {
  return { clientSecret: null, privateKey: null, authMethod: null, secretExpiresAt: null, ...client };
}

/** The refusal of a server without a token leads to the target. */
export async function discoverFrom(servers: AuthorizationServers, url: string): Promise<AuthorizationTarget> {
  const refusal = await fetch(url, { method: 'POST', body: '{}' });
  return servers.discover({ tenantId: 'tenant', url, challenge: challengeIn(refusal.headers) }, never);
}

export interface Journey {
  servers: AuthorizationServers;
  target: AuthorizationTarget;
  /** The person's part. @returns the callback's address */
  authorize: (url: string, decision?: Decision) => Promise<string>;
  /** Registered when not given. */
  client?: OAuthClient;
  scope?: string;
  grantedScope?: string;
  decision?: Decision;
}

/** From a target to tokens. */
export async function connect(journey: Journey): Promise<{ grant: Grant; tokens: IssuedTokens }> {
  const { servers, target } = journey;
  const client =
    journey.client ?? (await servers.register(target, { ...clientMetadata, scope: target.scope }, never));
  const begun = await servers.begin({
    target,
    client,
    redirectUri,
    scope: journey.scope ?? target.scope,
    grantedScope: journey.grantedScope ?? null,
    state: 'state',
  });
  const callback = new URL(await journey.authorize(begun.url, journey.decision)).searchParams;
  servers.checkIssuer(target, callback.get('iss'));
  const grant = { target, client, dpopKey: await servers.createDpopKey(target) };
  const code = {
    code: callback.get('code') ?? '',
    codeVerifier: begun.codeVerifier,
    redirectUri,
    iss: callback.get('iss'),
  };
  return { grant, tokens: await servers.exchange(grant, code, never) };
}

/** The code of the `AuthorizationFailure` in which a request ends. */
export async function failureCode(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'none',
    (error: unknown) => (error as { code?: string }).code ?? String(error),
  );
}
