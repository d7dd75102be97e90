import type { EntityManager } from '@mikro-orm/postgresql';
import { openClientSecret } from '#domain/identity/identity-providers/client-secret.ts';
import { IdentityProvider } from '#domain/identity/identity-providers/identity-provider.entity.ts';
import type { Secrets } from '#domain/foundation/kernel/secrets.ts';
import type { Database } from '#domain/foundation/persistence/database.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { openField } from '#domain/foundation/secrets/open-fields.ts';
import type { FieldPlace, FieldWork } from '#domain/foundation/secrets/field-place.ts';
import { sealField } from '#domain/foundation/secrets/seal-field.ts';
import { requireOpenTenant } from './require-open-tenant.ts';
import type { OidcClient, ProviderConnection } from './oidc-client.ts';

/** Dependencies of the sign-in use cases, which run before there is a caller. */
export interface SignInParts {
  database: Database;
  unitOfWork: UnitOfWork;
  secrets: Secrets;
  oidc: OidcClient;
}

/** An open sign-in, with the parameters of its request to the provider. */
export interface OpenLogin {
  tenantId: string;
  id: string;
  provider: IdentityProvider;
  connection: ProviderConnection;
  nonceHash: string;
  cookieHash: string;
  /** Needed by the callback only; null when its key was erased. */
  proof: LoginProof | null;
  redirectUri: string | null;
  /** Its one ID token was redeemed, or it has failed. */
  consumed: boolean;
  expired: boolean;
}

export interface LoginProof {
  codeVerifier: string;
  nonce: string;
}

/** Look-up keys of a sign-in before authentication. */
export type LoginKey = 'state' | 'nonce' | 'handle';

/** Hashes depend on the purpose: a state is never valid as a nonce or a cookie. */
export function hashFor(secrets: Secrets, purpose: LoginKey | 'cookie' | 'device', value: string): string {
  return secrets.mac('token', `login/${purpose}|${value}`).toString('base64url');
}

export async function locateLogin(
  { database, secrets }: SignInParts,
  key: LoginKey,
  value: string,
): Promise<{ tenantId: string; id: string } | null> {
  const [row] = await database.call<{ tenant_id: string; id: string }>(
    'find_login_transaction',
    'select * from app.find_login_transaction($1, $2)',
    [key, hashFor(secrets, key, value)],
  );
  return row === undefined ? null : { tenantId: row.tenant_id, id: row.id };
}

interface LoginRow {
  provider_id: string;
  nonce_hash: string;
  cookie_hash: string;
  proof: string;
  redirect_uri: string | null;
  consumed: boolean;
  expired: boolean;
}

/** @throws `tenant_suspended`, `tenant_deleting` */
export async function readLogin(
  parts: SignInParts,
  { tenantId, id }: { tenantId: string; id: string },
): Promise<OpenLogin | null> {
  return parts.unitOfWork.inTenant(tenantId, async (em) => {
    await requireOpenTenant(em, tenantId);
    const [row] = await em.execute<LoginRow[]>(
      `select provider_id, nonce_hash, cookie_hash, proof, redirect_uri,
         consumed_at is not null as consumed, expires_at <= now() as expired
       from login_transactions where tenant_id = ? and id = ?`,
      [tenantId, id],
    );
    if (row === undefined) {
      return null;
    }
    const provider = await em.findOneOrFail(IdentityProvider, { id: row.provider_id });
    return {
      tenantId,
      id,
      provider,
      connection: await connectionOf(em, parts.secrets, provider),
      nonceHash: row.nonce_hash,
      cookieHash: row.cookie_hash,
      proof: await openProof(em, parts.secrets, { tenantId, id, sealed: row.proof }),
      redirectUri: row.redirect_uri,
      consumed: row.consumed,
      expired: row.expired,
    };
  });
}

/**
 * The PKCE verifier and the nonce, sealed: the verifier is sent to the provider, the nonce must come back from it.
 */
export async function sealProof(
  work: FieldWork,
  { tenantId, id }: { tenantId: string; id: string },
  { codeVerifier, nonce }: LoginProof,
): Promise<string> {
  return sealField(work, proofPlace(tenantId, id), `${codeVerifier} ${nonce}`);
}

async function openProof(
  em: EntityManager,
  secrets: Secrets,
  { tenantId, id, sealed }: { tenantId: string; id: string; sealed: string },
): Promise<LoginProof | null> {
  const text = await openField({ em, secrets }, proofPlace(tenantId, id), sealed);
  const [codeVerifier, nonce] = text?.split(' ') ?? [];
  return codeVerifier === undefined || nonce === undefined ? null : { codeVerifier, nonce };
}

function proofPlace(tenantId: string, row: string): FieldPlace {
  return { tenantId, table: 'login_transactions', column: 'proof', row };
}

export async function connectionOf(
  em: EntityManager,
  secrets: Secrets,
  provider: IdentityProvider,
): Promise<ProviderConnection> {
  const { tenantId, id, issuer, clientId, signingAlg } = provider;
  const clientSecret = await openClientSecret({ em, secrets }, provider);
  return { tenantId, id, issuer, clientId, clientSecret, signingAlg };
}

/** Ends the sign-in, by success or failure; false when a concurrent request ended it first. */
export async function consumeLogin(
  em: EntityManager,
  login: { tenantId: string; id: string },
): Promise<boolean> {
  const taken = await em.execute(
    `update login_transactions set consumed_at = now()
     where tenant_id = ? and id = ? and consumed_at is null and expires_at > now() returning id`,
    [login.tenantId, login.id],
  );
  return taken.length > 0;
}
