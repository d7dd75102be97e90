import type { FastifyInstance, FastifyRequest } from 'fastify';
import { invalidCredentials, parseApiKey, secretMatches } from '#domain/access/api-key.ts';
import type { Identity } from '#domain/access/caller.ts';
import type { GatewayConfig } from '#domain/kernel/config.ts';
import { DomainError } from '#domain/kernel/errors.ts';
import type { Secrets } from '#domain/kernel/secrets.ts';
import { KeyUses } from '#domain/access/key-uses.ts';
import type { Database } from '#domain/persistence/database.ts';
import { FailedAttempts } from './failed-attempts.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Proved by the request's credential; not set on routes that declare themselves public. */
    identity: Identity;
    /** Proves the credential again. @throws when it was revoked meanwhile */
    reauthenticate(): Promise<void>;
  }
}

interface CredentialRow {
  tenant_id: string;
  id: string;
  principal_id: string;
  secret_hash: string;
  permissions: string[] | null;
  usable: boolean;
}

export interface AuthenticationDependencies {
  config: Pick<GatewayConfig, 'MAX_FAILED_ATTEMPTS'>;
  database: Database;
  secrets: Secrets;
}

/** What the process remembers of credentials; one for all prefixes. */
export interface Door extends AuthenticationDependencies {
  failed: FailedAttempts;
  uses: KeyUses;
}

export function openDoor(deps: AuthenticationDependencies): Door {
  return {
    config: deps.config,
    database: deps.database,
    secrets: deps.secrets,
    failed: new FailedAttempts(deps.config.MAX_FAILED_ATTEMPTS),
    uses: new KeyUses(deps.database),
  };
}

/** `X-API-Key: ak.…` or `Authorization: Bearer ak.…`; both only when they are the same principal's. */
export function authenticate(app: FastifyInstance, door: Door): void {
  app.decorateRequest('identity');
  app.decorateRequest('reauthenticate', async function reauthenticate(this: FastifyRequest) {
    await identify(this, door);
  });
  app.addHook('onRequest', async (request) => {
    if (!('public' in request.routeOptions.config)) {
      request.identity = await identify(request, door);
      refuseOtherTenant(request);
    }
  });
}

async function identify(request: FastifyRequest, door: Door): Promise<Identity> {
  const tokens = presented(request);
  const [first, second] = await Promise.all(tokens.map((token) => resolve(token, request.ip, door)));
  if (first === undefined) {
    throw new DomainError('not_authenticated', 'Send an API key in X-API-Key or as a bearer token.');
  }
  if (
    second !== undefined &&
    (second.tenantId !== first.tenantId || second.principalId !== first.principalId)
  ) {
    throw new DomainError('ambiguous_credentials', 'The two credentials belong to different principals.');
  }
  return first;
}

/** The header only ever selects a sign-in; elsewhere it must agree with the credential. */
function refuseOtherTenant({ headers, identity }: FastifyRequest): void {
  const tenant = headers['x-tenant-id'];
  if (tenant !== undefined && tenant !== identity.tenantId) {
    throw new DomainError('tenant_mismatch', 'X-Tenant-Id is not the tenant of the credential.');
  }
}

function presented(request: FastifyRequest): string[] {
  const key = request.headers['x-api-key'];
  const bearer = request.headers.authorization;
  const tokens: string[] = [];
  if (typeof key === 'string') {
    tokens.push(key);
  }
  if (bearer !== undefined) {
    const match = /^Bearer +(\S+)$/i.exec(bearer);
    tokens.push(match?.[1] ?? '');
  }
  return tokens;
}

async function resolve(token: string, address: string, door: Door): Promise<Identity> {
  const parsed = parseApiKey(token);
  const attempt = { address, keyId: parsed?.keyId ?? '' };
  await door.failed.refuseMore(attempt);
  const identity = parsed === null ? null : await prove(parsed, door);
  if (identity === null) {
    await door.failed.count(attempt);
    throw invalidCredentials();
  }
  door.uses.note(identity);
  return identity;
}

/** Whose key this is; null for every cause of refusal alike. */
async function prove(
  { keyId, secret }: { keyId: string; secret: string },
  { database, secrets }: Door,
): Promise<Identity | null> {
  const [row] = await database.call<CredentialRow>(
    'find_credential',
    'select * from app.find_credential($1)',
    [keyId],
  );
  const matches = secretMatches(secrets, secret, row?.secret_hash ?? null);
  return row !== undefined && matches && row.usable
    ? {
        tenantId: row.tenant_id,
        principalId: row.principal_id,
        apiKeyId: row.id,
        keyPermissions: row.permissions,
      }
    : null;
}
