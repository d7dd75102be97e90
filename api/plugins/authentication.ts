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
    /** Verifies the credential again. @throws when it was revoked meanwhile */
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
  app.decorateRequest('identity');
  app.decorateRequest('reauthenticate', async function reauthenticate(this: FastifyRequest) {
    // Uses the key's current permissions.
    this.identity = await identify(this, verifier, { skipCache: true });
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
      request.identity = await identify(request, verifier);
      rejectOtherTenant(request);
    }
  });
}

async function identify(
  request: FastifyRequest,
  verifier: CredentialVerifier,
  how = { skipCache: false },
): Promise<Identity> {
  const tokens = presented(request);
  const [first, second] = await Promise.all(
    tokens.map((credential) => resolve({ credential, address: request.ip, ...how }, verifier)),
  );
  if (first === undefined) {
    throw new DomainError(
      'not_authenticated',
      'Send an API key in X-API-Key, or an API key or access token as a bearer token.',
    );
  }
  if (
    second !== undefined &&
    (second.tenantId !== first.tenantId || second.principalId !== first.principalId)
  ) {
    throw new DomainError('ambiguous_credentials', 'The two credentials belong to different principals.');
  }
  return first;
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
