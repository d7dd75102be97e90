import type { FastifyInstance, FastifyRequest } from 'fastify';
import { invalidCredentials, parseApiKey, secretMatches } from '#domain/access/api-key.ts';
import type { Identity } from '#domain/access/caller.ts';
import { DomainError } from '#domain/kernel/errors.ts';
import type { Secrets } from '#domain/kernel/secrets.ts';
import type { Database } from '#domain/persistence/database.ts';

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

/** `X-API-Key: ak.…` or `Authorization: Bearer ak.…`; both only when they are the same principal's. */
export function authenticate(app: FastifyInstance, deps: { database: Database; secrets: Secrets }): void {
  app.decorateRequest('identity');
  app.decorateRequest('reauthenticate', async function reauthenticate(this: FastifyRequest) {
    await identify(this, deps);
  });
  app.addHook('onRequest', async (request) => {
    if (!('public' in request.routeOptions.config)) {
      request.identity = await identify(request, deps);
      refuseOtherTenant(request);
    }
  });
}

async function identify(
  request: FastifyRequest,
  deps: { database: Database; secrets: Secrets },
): Promise<Identity> {
  const tokens = presented(request);
  const [first, second] = await Promise.all(tokens.map((token) => resolve(token, deps)));
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

async function resolve(token: string, deps: { database: Database; secrets: Secrets }): Promise<Identity> {
  const parsed = parseApiKey(token);
  if (parsed === null) {
    throw invalidCredentials();
  }
  const [row] = await deps.database.call<CredentialRow>(
    'find_credential',
    'select * from app.find_credential($1)',
    [parsed.keyId],
  );
  const matches = secretMatches(deps.secrets, parsed.secret, row?.secret_hash ?? null);
  if (row === undefined || !matches || !row.usable) {
    throw invalidCredentials();
  }
  return {
    tenantId: row.tenant_id,
    principalId: row.principal_id,
    apiKeyId: row.id,
    keyPermissions: row.permissions,
  };
}
