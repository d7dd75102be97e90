import type { FastifyInstance, FastifyRequest } from 'fastify';
import { invalidCredentials, parseApiKey, secretMatches } from '#domain/access/api-key.ts';
import type { Identity } from '#domain/access/caller.ts';
import type { GatewayConfig } from '#domain/kernel/config.ts';
import { DomainError } from '#domain/kernel/errors.ts';
import type { Secrets } from '#domain/kernel/secrets.ts';
import { KeyUses } from '#domain/access/key-uses.ts';
import type { KeyVerdicts, Verdict } from '#domain/access/key-verdicts.ts';
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
  expires_in_ms: number;
}

export interface AuthenticationDependencies {
  config: Pick<GatewayConfig, 'MAX_FAILED_ATTEMPTS'>;
  database: Database;
  secrets: Secrets;
  verdicts: KeyVerdicts;
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
    verdicts: deps.verdicts,
    failed: new FailedAttempts(deps.config.MAX_FAILED_ATTEMPTS),
    uses: new KeyUses(deps.database),
  };
}

/** `X-API-Key: ak.…` or `Authorization: Bearer ak.…`; both only when they are the same principal's. */
export function authenticate(app: FastifyInstance, door: Door): void {
  app.decorateRequest('identity');
  app.decorateRequest('reauthenticate', async function reauthenticate(this: FastifyRequest) {
    await identify(this, door, { anew: true });
  });
  app.addHook('onRequest', async (request) => {
    if (!('public' in request.routeOptions.config)) {
      request.identity = await identify(request, door);
      refuseOtherTenant(request);
    }
  });
}

async function identify(request: FastifyRequest, door: Door, how = { anew: false }): Promise<Identity> {
  const tokens = presented(request);
  const [first, second] = await Promise.all(
    tokens.map((token) => resolve({ token, address: request.ip, ...how }, door)),
  );
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

/** `anew`: by the database, whatever this process remembers. */
interface Presented {
  token: string;
  address: string;
  anew: boolean;
}

async function resolve({ token, address, anew }: Presented, door: Door): Promise<Identity> {
  const known = anew ? null : door.verdicts.find(token);
  const parsed = known ?? parseApiKey(token);
  const attempt = { address, keyId: parsed?.keyId ?? '' };
  if (door.failed.any) {
    await door.failed.refuseMore(attempt);
  }
  const verdict = known ?? (await prove(token, door));
  if (verdict === null) {
    await door.failed.count(attempt);
    throw invalidCredentials();
  }
  door.uses.note(verdict.identity);
  return verdict.identity;
}

/** Whose key this is; null for every cause of refusal alike. */
async function prove(token: string, { database, secrets, verdicts }: Door): Promise<Verdict | null> {
  const parsed = parseApiKey(token);
  if (parsed === null) {
    return null;
  }
  const { keyId, secret } = parsed;
  return verdicts.findAnew(token, async () => {
    const askedAt = performance.now();
    const [row] = await database.call<CredentialRow>(
      'find_credential',
      'select * from app.find_credential($1)',
      [keyId],
    );
    const matches = secretMatches(secrets, secret, row?.secret_hash ?? null);
    return row !== undefined && matches && row.usable
      ? {
          keyId,
          goodUntil: askedAt + row.expires_in_ms,
          identity: {
            tenantId: row.tenant_id,
            principalId: row.principal_id,
            apiKeyId: row.id,
            keyPermissions: row.permissions,
          },
        }
      : null;
  });
}
