import type { FastifyInstance, FastifyRequest } from 'fastify';
import { parseApiKey } from '#domain/identity/api-keys/api-key.ts';
import type { Identity } from '#domain/foundation/access/caller.ts';
import type { GatewayConfig } from '#domain/foundation/kernel/config.ts';
import { DomainError, invalidCredentials } from '#domain/foundation/kernel/errors.ts';
import type { Secrets } from '#domain/foundation/kernel/secrets.ts';
import { KeyUses } from '#domain/identity/api-keys/key-uses.ts';
import type { CredentialCache } from '#domain/identity/api-keys/credential-cache.ts';
import type { Database } from '#domain/foundation/persistence/database.ts';
import { proveApiKey } from '#domain/identity/api-keys/prove-api-key.ts';
import { isToken } from '#domain/identity/sessions/bearer-token.ts';
import { isSessionOpen } from '#domain/identity/sessions/is-session-open.ts';
import { proveAccessToken } from '#domain/identity/sessions/resolve-token.ts';
import { statusOf } from '../errors.ts';
import { FailedAttempts, type Attempt } from './failed-attempts.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Authenticated by the request's credential; not set on public routes. */
    identity: Identity;
    /** False on public routes, unless the route authenticates the caller itself. */
    hasIdentity(): boolean;
    /** Resolves the owner of an API key or access token. @throws `invalid_credentials` */
    prove(credential: string): Promise<Identity>;
    /**
     * Counts a 401 of `work` as a failed attempt for `keyId`.
     * @throws `too_many_failed_attempts` instead of another attempt
     */
    asAttempt<T>(keyId: string, work: () => Promise<T>): Promise<T>;
    /**
     * Verifies again what the request was accepted with: its key, or the session of its access token, which may expire
     * meanwhile. @throws `invalid_credentials` when the key or the session has ended
     */
    reauthenticate(): Promise<void>;
  }
}

export interface AuthenticationDependencies {
  config: Pick<GatewayConfig, 'MAX_FAILED_ATTEMPTS'>;
  database: Database;
  secrets: Secrets;
  credentialCache: CredentialCache;
}

/** State of credential verification; one instance for all prefixes. */
export interface CredentialVerifier extends AuthenticationDependencies {
  failed: FailedAttempts;
  uses: KeyUses;
}

export function createCredentialVerifier(deps: AuthenticationDependencies): CredentialVerifier {
  return {
    config: deps.config,
    database: deps.database,
    secrets: deps.secrets,
    credentialCache: deps.credentialCache,
    failed: new FailedAttempts(deps.config.MAX_FAILED_ATTEMPTS),
    uses: new KeyUses(deps.database),
  };
}

/** `X-API-Key: ak.…` or `Authorization: Bearer` with a key or an access token (`at.…`); both only of one principal. */
export function authenticate(app: FastifyInstance, verifier: CredentialVerifier): void {
  const accepted = new WeakMap<FastifyRequest, Proved[]>();
  app.decorateRequest('identity');
  app.decorateRequest('reauthenticate', async function reauthenticate(this: FastifyRequest) {
    const proved = await Promise.all((accepted.get(this) ?? []).map((each) => proveAgain(each, verifier)));
    this.identity = onlyPrincipal(proved);
  });
  app.decorateRequest('hasIdentity', function hasIdentity(this: FastifyRequest) {
    return (this.identity as Identity | undefined) !== undefined;
  });
  app.decorateRequest('prove', async function prove(this: FastifyRequest, credential: string) {
    return resolve(
      { credential: { text: credential, fits: isApiKeyOrToken }, address: this.ip, skipCache: true },
      verifier,
    );
  });
  app.decorateRequest('asAttempt', async function asAttempt<
    T,
  >(this: FastifyRequest, keyId: string, work: () => Promise<T>): Promise<T> {
    return counted({ address: this.ip, keyId }, verifier, work);
  });
  app.addHook('onRequest', async (request) => {
    if (!('public' in request.routeOptions.config)) {
      const proved = await proveAll(request, verifier);
      accepted.set(request, proved);
      request.identity = onlyPrincipal(proved);
      rejectOtherTenant(request);
    }
  });
}

/** A credential of a request, and whom it proved. */
interface Proved {
  credential: Presented;
  identity: Identity;
}

function proveAll(request: FastifyRequest, verifier: CredentialVerifier): Promise<Proved[]> {
  return Promise.all(
    presented(request).map(async (credential) => ({
      credential,
      identity: await resolve({ credential, address: request.ip, skipCache: false }, verifier),
    })),
  );
}

/**
 * No attempt, since the credential was right: what others try from the same address ends no request that is accepted.
 * @throws `invalid_credentials`
 */
async function proveAgain({ credential, identity }: Proved, verifier: CredentialVerifier): Promise<Proved> {
  const { tenantId, sessionId } = identity;
  if (sessionId != null) {
    if (!(await isSessionOpen(verifier.database, { tenantId, sessionId }))) {
      throw invalidCredentials();
    }
    return { credential, identity };
  }
  const known = await proveApiKey(verifier, credential.text);
  if (known === null) {
    throw invalidCredentials();
  }
  verifier.uses.note(known.identity);
  // With the key's current permissions.
  return { credential, identity: known.identity };
}

/** @throws `not_authenticated` without a credential, `ambiguous_credentials` */
function onlyPrincipal([first, second]: readonly Proved[]): Identity {
  if (first === undefined) {
    throw new DomainError(
      'not_authenticated',
      'Send an API key in X-API-Key, or an API key or access token as a bearer token.',
    );
  }
  const { identity } = first;
  if (
    second !== undefined &&
    (second.identity.tenantId !== identity.tenantId || second.identity.principalId !== identity.principalId)
  ) {
    throw new DomainError('ambiguous_credentials', 'The two credentials belong to different principals.');
  }
  return identity;
}

/** The header only selects the tenant of a sign-in; elsewhere it must match the credential. */
function rejectOtherTenant({ headers, identity }: FastifyRequest): void {
  const tenant = headers['x-tenant-id'];
  if (tenant !== undefined && tenant !== identity.tenantId) {
    throw new DomainError('tenant_mismatch', 'X-Tenant-Id is not the tenant of the credential.');
  }
}

/** Credentials of the headers; each header accepts its own kinds only. */
interface Presented {
  text: string;
  fits: (text: string) => boolean;
}

const isApiKey = (text: string): boolean => !text.startsWith('at.');
const isApiKeyOrToken = (): boolean => true;

function presented(request: FastifyRequest): Presented[] {
  const key = request.headers['x-api-key'];
  const bearer = request.headers.authorization;
  const tokens: Presented[] = [];
  if (typeof key === 'string') {
    tokens.push({ text: key, fits: isApiKey });
  }
  if (bearer !== undefined) {
    const match = /^Bearer +(\S+)$/i.exec(bearer);
    tokens.push({ text: match?.[1] ?? '', fits: isApiKeyOrToken });
  }
  return tokens;
}

interface Look {
  credential: Presented;
  address: string;
  /** Reads the database and not this process's cache. */
  skipCache: boolean;
}

async function resolve(
  { credential, address, skipCache }: Look,
  verifier: CredentialVerifier,
): Promise<Identity> {
  const { text, fits } = credential;
  const known = skipCache ? null : verifier.credentialCache.find(text);
  const parsed = known ?? parseApiKey(text);
  const isAccessToken = isToken('at', text);
  // Failed access tokens are counted per token: they block no other client of the same address.
  const keyId = parsed?.keyId ?? (isAccessToken ? text.slice(0, 11) : '');
  return counted({ address, keyId }, verifier, async () => {
    if (!fits(text)) {
      throw invalidCredentials();
    }
    const identity = isAccessToken
      ? await proveAccessToken(verifier, text)
      : (known ?? (await proveApiKey(verifier, text)))?.identity;
    if (identity == null) {
      throw invalidCredentials();
    }
    verifier.uses.note(identity);
    return identity;
  });
}

async function counted<T>(
  attempt: Attempt,
  verifier: CredentialVerifier,
  work: () => Promise<T>,
): Promise<T> {
  if (verifier.failed.any) {
    await verifier.failed.assertUnderLimit(attempt);
  }
  try {
    return await work();
  } catch (error) {
    if (
      error instanceof DomainError &&
      statusOf[error.code].status === 401 &&
      error.code !== 'token_expired'
    ) {
      await verifier.failed.count(attempt);
    }
    throw error;
  }
}
