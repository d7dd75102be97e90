import type { EntityManager } from '@mikro-orm/postgresql';
import { loadCaller } from '#domain/foundation/access/load-caller.ts';
import { holdProvider } from '#domain/identity/identity-providers/read-providers.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import type { Secrets } from '#domain/foundation/kernel/secrets.ts';
import { admitIdentity } from './admit-identity.ts';
import { checkIdToken, claimsHash, idTokenInvalid, transactionRequired } from './check-id-token.ts';
import { consumeLogin, hashFor, type OpenLogin, type SignInParts } from './login-transaction.ts';
import type { VerifiedIdToken } from './oidc-client.ts';
import { recordFailure, type LoginFailure } from './record-sign-in.ts';

/** The subject is valid at the provider but not linked to a user. */
class UnknownIdentity extends DomainError {}

export interface PresentedToken {
  idToken: string;
  accessToken: string | null;
  /**
   * With `stranger`, the access token must match the ID token's hash; tokens straight from the provider need no such
   * proof.
   */
  tokenSource: 'provider' | 'stranger';
}

/**
 * Verifies signature, issuer, audience and times with the provider's keys, then every claim that needs no database.
 */
export async function verifyIdToken(
  { oidc, secrets }: SignInParts,
  login: OpenLogin,
  { idToken, accessToken, tokenSource }: PresentedToken,
): Promise<VerifiedIdToken> {
  const verified = await oidc.verify(login.connection, idToken, tokenSource);
  checkIdToken(verified, {
    clientId: login.provider.clientId,
    extraAudiences: login.provider.extraAudiences,
    nonceHash: login.nonceHash,
    hashNonce: (nonce) => hashFor(secrets, 'nonce', nonce),
    accessToken,
    needsAccessTokenHash: tokenSource === 'stranger',
  });
  return verified;
}

/**
 * Redeems a verified ID token: consumes the sign-in, marks the token as used, and admits its subject, all in one
 * transaction of which the database lets one of many win. If the provider's identity changed since the token was
 * verified, the token is refused.
 * @throws `login_transaction_required`, `id_token_invalid`, `identity_provider_unconfirmed`, `principal_disabled`,
 *   `tenant_suspended`
 */
export async function consumeIdToken(
  em: EntityManager,
  login: OpenLogin,
  { claims, requestId, secrets }: { claims: VerifiedIdToken['claims']; requestId: string; secrets: Secrets },
): Promise<{ principalId: string; claimsHash: string }> {
  if (!(await consumeLogin(em, login))) {
    throw transactionRequired();
  }
  const provider = await holdProvider({ em }, login.provider.id);
  if (provider.clientId !== login.provider.clientId || provider.status !== 'active') {
    throw transactionRequired();
  }
  const hash = claimsHash(claims);
  const fresh = await em.execute(
    `insert into used_id_tokens (tenant_id, claims_hash, expires_at)
     values (?, ?, now() + interval '1 day') on conflict do nothing returning claims_hash`,
    [login.tenantId, hash],
  );
  if (fresh.length === 0) {
    throw idTokenInvalid();
  }
  const principalId = await admitIdentity(em, provider, { claims, requestId, secrets });
  if (principalId === null) {
    throw new UnknownIdentity(
      'id_token_invalid',
      'This identity is not known here: ask an administrator to link it.',
    );
  }
  const identity = { tenantId: login.tenantId, principalId, apiKeyId: null, keyPermissions: null };
  await loadCaller(em, identity, { via: 'api', requestId }, null);
  return { principalId, claimsHash: hash };
}

/** Runs `work`, and records a failure of the sign-in in a transaction of its own. */
export async function withFailureRecorded<T>(
  { unitOfWork }: SignInParts,
  { login, requestId }: { login: OpenLogin; requestId: string },
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const reason = reasonOf(error);
    if (reason !== null) {
      await recordFailure(unitOfWork, login, { reason, requestId });
    }
    throw error;
  }
}

function reasonOf(error: unknown): LoginFailure | null {
  if (!(error instanceof DomainError)) {
    return null;
  }
  switch (error.code) {
    case 'id_token_invalid':
      return error instanceof UnknownIdentity ? 'unknown_identity' : 'id_token_invalid';
    case 'identity_provider_unavailable':
      return 'provider_unavailable';
    case 'identity_provider_unconfirmed':
      return 'provider_unconfirmed';
    case 'principal_disabled':
      return 'principal_disabled';
    default:
      return null;
  }
}
