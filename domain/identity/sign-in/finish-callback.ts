import { mintToken } from '#domain/identity/sessions/bearer-token.ts';
import { consumeIdToken, verifyIdToken, withFailureRecorded } from './accept-id-token.ts';
import { idTokenInvalid, transactionRequired } from './check-id-token.ts';
import {
  consumeLogin,
  hashFor,
  locateLogin,
  readLogin,
  type OpenLogin,
  type SignInParts,
} from './login-transaction.ts';
import { writeFailure, type LoginFailure } from './record-sign-in.ts';
import { redirectNotAllowed, requireAllowed } from './start-login.ts';

const handleSeconds = 60;

/** Parameters of the provider's redirect, null where absent. */
export interface Callback {
  /** The id in the callback's path: where a response names no issuer, nothing else says whose code it is. */
  provider: string;
  /** The callback's full URL, at the address registered with the provider. */
  url: string;
  code: string | null;
  state: string | null;
  /** The issuer that the response names (RFC 9207). */
  issuer: string | null;
  error: string | null;
  frontendRedirectUri: string | null;
  cookie: string | null;
  requestId: string;
}

/**
 * Finishes the browser's part of a sign-in. The address that it returns carries a handle that this browser can redeem
 * once within a minute, or one of a fixed list of error codes; never a secret, never a provider's words.
 * @throws `login_transaction_required` without the matching state and cookie, `id_token_invalid`,
 *   `redirect_uri_not_allowed`, `identity_provider_unavailable`, `identity_provider_unconfirmed`, `principal_disabled`,
 *   `tenant_suspended`
 */
export async function finishCallback(parts: SignInParts, callback: Callback): Promise<string> {
  const { requestId } = callback;
  const login = await findLogin(parts, callback);
  if (callback.issuer !== null && callback.issuer !== login.provider.issuer) {
    // Another issuer responded (mix-up attack): the response is discarded, and the sign-in stays open.
    throw idTokenInvalid();
  }
  if (callback.error !== null) {
    return failLogin(parts, { login, error: callback.error, requestId });
  }
  const { code, state } = callback;
  const { proof } = login;
  const redirectUri = requireRedirect(login);
  if (code === null || state === null || proof === null) {
    throw idTokenInvalid();
  }
  return withFailureRecorded(parts, { login, requestId }, async () => {
    const tokens = await parts.oidc.exchangeCode(login.connection, {
      callbackUrl: callback.url,
      state,
      ...proof,
    });
    const verified = await verifyIdToken(parts, login, {
      idToken: tokens.idToken,
      accessToken: tokens.accessToken,
      tokenSource: 'provider',
    });
    const handle = mintToken('lh');
    await parts.unitOfWork.inTenant(login.tenantId, async (em) => {
      const { principalId } = await consumeIdToken(em, login, {
        claims: verified.claims,
        requestId,
        secrets: parts.secrets,
      });
      await em.execute(
        `update login_transactions set principal_id = ?, handle_hash = ?,
           handle_expires_at = now() + make_interval(secs => ?)
         where tenant_id = ? and id = ?`,
        [principalId, hashFor(parts.secrets, 'handle', handle), handleSeconds, login.tenantId, login.id],
      );
    });
    return withQuery(redirectUri, 'session_id', handle);
  });
}

async function findLogin(parts: SignInParts, callback: Callback): Promise<OpenLogin> {
  const { state, cookie, provider } = callback;
  const place = state === null || cookie === null ? null : await locateLogin(parts, 'state', state);
  const login = place === null ? null : await readLogin(parts, place);
  if (
    login === null ||
    cookie === null ||
    login.consumed ||
    login.expired ||
    login.provider.status !== 'active' ||
    provider !== login.provider.id ||
    hashFor(parts.secrets, 'cookie', cookie) !== login.cookieHash
  ) {
    throw transactionRequired();
  }
  if (callback.frontendRedirectUri !== null && callback.frontendRedirectUri !== login.redirectUri) {
    throw redirectNotAllowed();
  }
  return login;
}

/** The allow-list may have been shortened since the start. */
function requireRedirect({ provider, redirectUri }: OpenLogin): string {
  if (redirectUri === null) {
    throw redirectNotAllowed();
  }
  requireAllowed(provider, redirectUri);
  return redirectUri;
}

async function failLogin(
  { unitOfWork }: SignInParts,
  { login, error, requestId }: { login: OpenLogin; error: string; requestId: string },
): Promise<string> {
  const reason = reasonOf(error);
  const redirectUri = requireRedirect(login);
  await unitOfWork.inTenant(login.tenantId, async (em) => {
    if (!(await consumeLogin(em, login))) {
      throw transactionRequired();
    }
    await writeFailure(em, login, { reason, requestId });
  });
  return withQuery(redirectUri, 'error', reason);
}

function reasonOf(error: string): LoginFailure {
  switch (error) {
    case 'access_denied':
      return 'access_denied';
    case 'login_required':
    case 'interaction_required':
    case 'consent_required':
    case 'account_selection_required':
      return 'login_required';
    case 'temporarily_unavailable':
    case 'server_error':
      return 'provider_unavailable';
    default:
      return 'provider_error';
  }
}

function withQuery(address: string, name: string, value: string): string {
  const url = new URL(address);
  url.searchParams.set(name, value);
  return url.href;
}
