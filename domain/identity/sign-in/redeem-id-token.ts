import type { EntityManager } from '@mikro-orm/postgresql';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import { consumeIdToken, verifyIdToken, withFailureRecorded } from './accept-id-token.ts';
import { claimsHash, idTokenInvalid, transactionRequired } from './check-id-token.ts';
import { locateLogin, readLogin, type OpenLogin, type SignInParts } from './login-transaction.ts';
import type { VerifiedIdToken } from './oidc-client.ts';
import { openSession, reopenSession, type OpenedSession } from './open-session.ts';

export interface RedeemIdToken {
  provider: string;
  idToken: string;
  accessToken: string | null;
  /** Max lifetime of the session in seconds; null: the default. */
  expiresIn: number | null;
  idempotency: { key: string; fingerprint: string } | null;
  /** See `openSession`. */
  device: string | null;
  requestId: string;
}

/**
 * Opens a session for an ID token that the caller got from the provider itself, with the nonce of a sign-in that was
 * started here.
 * @throws `login_transaction_required`, `id_token_invalid`, `identity_provider_unavailable`,
 *   `identity_provider_unconfirmed`, `principal_disabled`, `tenant_suspended`, `idempotency_key_reused`
 */
export async function redeemIdToken(
  parts: SignInParts,
  input: RedeemIdToken,
): Promise<OpenedSession & { replayed: boolean }> {
  const { requestId } = input;
  const nonce = parts.oidc.peekNonce(input.idToken);
  const place = nonce === null ? null : await locateLogin(parts, 'nonce', nonce);
  const login = place === null ? null : await readLogin(parts, place);
  if (login === null || (input.provider !== login.provider.id && input.provider !== login.provider.slug)) {
    throw transactionRequired();
  }
  if (login.provider.status !== 'active') {
    throw transactionRequired();
  }
  return withFailureRecorded(parts, { login, requestId }, async () => {
    const { claims } = await verifyIdToken(parts, login, {
      idToken: input.idToken,
      accessToken: input.accessToken,
      tokenSource: 'stranger',
    });
    return parts.unitOfWork.inTenant(login.tenantId, async (em) => {
      const repeated = await repeat(em, parts, { login, claims, input });
      return repeated ?? { ...(await consumeToken(em, parts, { login, claims, input })), replayed: false };
    });
  });
}

interface Redemption {
  login: OpenLogin;
  claims: VerifiedIdToken['claims'];
  input: RedeemIdToken;
}

async function consumeToken(
  em: EntityManager,
  { secrets }: SignInParts,
  { login, claims, input }: Redemption,
): Promise<OpenedSession> {
  const { requestId, idempotency } = input;
  const { principalId, claimsHash: hash } = await consumeIdToken(em, login, { claims, requestId, secrets });
  const { tenantId, provider } = login;
  const opened = await openSession(
    { em, secrets },
    { tenantId, principalId, provider, maxLifetime: input.expiresIn, device: input.device, requestId },
  );
  await em.execute(
    `update used_id_tokens set session_id = ?, idempotency_key = ?, fingerprint = ?
     where tenant_id = ? and claims_hash = ?`,
    [opened.sessionId, idempotency?.key ?? null, idempotency?.fingerprint ?? null, tenantId, hash],
  );
  return opened;
}

/**
 * The session of the first response, if the request repeats an earlier one with the same key; null for a first
 * request.
 */
async function repeat(
  em: EntityManager,
  { secrets }: SignInParts,
  { login, claims, input }: Redemption,
): Promise<(OpenedSession & { replayed: true }) | null> {
  if (input.idempotency === null) {
    return null;
  }
  // Of two concurrent requests, the second waits until the first has its session.
  await em.execute('select id from login_transactions where tenant_id = ? and id = ? for update', [
    login.tenantId,
    login.id,
  ]);
  const [row] = await em.execute<{ session_id: string | null; fingerprint: string | null }[]>(
    `select session_id, fingerprint from used_id_tokens
     where tenant_id = ? and claims_hash = ? and idempotency_key = ?`,
    [login.tenantId, claimsHash(claims), input.idempotency.key],
  );
  if (row?.session_id == null) {
    return null;
  }
  if (row.fingerprint !== input.idempotency.fingerprint) {
    throw new DomainError('idempotency_key_reused', 'This idempotency key was used with another request.', {
      param: 'Idempotency-Key',
    });
  }
  const opened = await reopenSession({ em, secrets }, row.session_id, input.requestId);
  if (opened === null) {
    throw idTokenInvalid();
  }
  return { ...opened, replayed: true };
}
