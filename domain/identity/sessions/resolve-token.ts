import type { Identity } from '#domain/foundation/access/caller.ts';
import { DomainError, invalidCredentials } from '#domain/foundation/kernel/errors.ts';
import type { Secrets } from '#domain/foundation/kernel/secrets.ts';
import type { Database } from '#domain/foundation/persistence/database.ts';
import { hashToken, isToken } from './bearer-token.ts';

/** A token as the database stores it, read for each request: its end takes effect at once. */
export interface FoundToken {
  /** The token text as received. */
  token: string;
  tenant_id: string;
  id: string;
  session_id: string;
  principal_id: string;
  kind: 'access' | 'refresh';
  expired: boolean;
  ended: boolean;
}

interface Deps {
  database: Database;
  secrets: Secrets;
}

export async function findToken({ database, secrets }: Deps, token: string): Promise<FoundToken | null> {
  const [row] = await database.call<Omit<FoundToken, 'token'>>(
    'find_token',
    'select * from app.find_token($1)',
    [hashToken(secrets, token)],
  );
  return row === undefined ? null : { ...row, token };
}

/**
 * The identity of an access token; null for every other cause of refusal. @throws `token_expired` for a genuine
 * expired one
 */
export async function proveAccessToken(deps: Deps, token: string): Promise<Identity | null> {
  const found = isToken('at', token) ? await findToken(deps, token) : null;
  if (found === null || found.kind !== 'access' || found.ended) {
    return null;
  }
  if (found.expired) {
    throw new DomainError('token_expired', 'The access token has expired: renew it at POST /v1/refresh.');
  }
  return {
    tenantId: found.tenant_id,
    principalId: found.principal_id,
    apiKeyId: null,
    keyPermissions: null,
    sessionId: found.session_id,
  };
}

/** The token of `Authorization: Bearer …`. @throws `not_authenticated`, `invalid_credentials` for a malformed one */
export function bearerOf(header: string | undefined): string {
  if (header === undefined) {
    throw new DomainError('not_authenticated', 'Send the refresh token as a bearer token.');
  }
  const [, token] = /^Bearer +(\S+)$/i.exec(header) ?? [];
  if (token === undefined) {
    throw invalidCredentials();
  }
  return token;
}
