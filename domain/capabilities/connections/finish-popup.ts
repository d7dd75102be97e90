import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { sealField } from '#domain/foundation/secrets/seal-field.ts';
import { requireOpenTenant } from '#domain/identity/sign-in/require-open-tenant.ts';
import { hashFor, newSecret } from './attempt-secrets.ts';
import { AuthorizationAttempt, attemptPlace } from './authorization-attempt.entity.ts';
import { AuthorizationFailure } from './authorization-servers.ts';
import type { ConnectionParts } from './connection-parts.ts';
import type { AttemptFailure } from './connection-status.ts';
import { failAttempt, reasonOf } from './end-attempt.ts';
import { locateAttempt, noAttempt, type CookieOf } from './locate-attempt.ts';
import { endAddress, type PopupEnd } from './popup-end.ts';

const handleMs = 60_000;

/** Parameters of the authorization server's redirect, null where absent. */
export interface PopupReturn {
  state: string | null;
  code: string | null;
  issuer: string | null;
  error: string | null;
  /** The address at which the response arrived. */
  callbackUri: string;
  cookieOf: CookieOf;
  requestId: string;
}

/**
 * Takes what the authorization server sends back and keeps it, sealed, until the initiator completes the attempt. The
 * address that it returns carries a handle that works once within a minute, or a reason of a fixed list.
 * @throws `authorization_attempt_not_found`, `tenant_suspended`, `tenant_deleting`
 */
export async function finishPopup(parts: ConnectionParts, returned: PopupReturn): Promise<PopupEnd> {
  const { state, code } = returned;
  const place = state === null ? null : await locateAttempt(parts, 'state', state);
  const cookie = place === null ? null : returned.cookieOf(place.id);
  if (place === null || cookie === null) {
    throw noAttempt();
  }
  return parts.unitOfWork.inTenant(place.tenantId, async (em) => {
    await requireOpenTenant(em, place.tenantId);
    const now = await databaseNow(em);
    const attempt = await em.findOne(AuthorizationAttempt, {
      id: place.id,
      stage: 'continued',
      cookieHash: hashFor(parts.secrets, 'cookie', cookie),
      expiresAt: { $gt: now },
    });
    if (attempt === null) {
      throw noAttempt();
    }
    const failure = failureIn(parts, attempt, returned);
    if (failure !== null || code === null) {
      const reason = failure ?? 'protocol_error';
      const origin = { via: 'api' as const, requestId: returned.requestId };
      if (!(await failAttempt(em, attempt.id, { reason, origin }))) {
        throw noAttempt();
      }
      return { attemptId: attempt.id, isOver: true, address: endAddress(attempt, { error: reason }) };
    }
    const handle = `mh.${newSecret()}`;
    const taken = await em.nativeUpdate(
      AuthorizationAttempt,
      { id: attempt.id, stage: 'continued' },
      {
        stage: 'returned',
        stateHash: null,
        cookieHash: null,
        code: await sealField({ em, secrets: parts.secrets }, attemptPlace(attempt, 'code'), code),
        codeIssuer: returned.issuer,
        handleHash: hashFor(parts.secrets, 'handle', handle),
        handleExpiresAt: new Date(now.getTime() + handleMs),
      },
    );
    if (taken === 0) {
      throw noAttempt();
    }
    return { attemptId: attempt.id, isOver: true, address: endAddress(attempt, { handle }) };
  });
}

/** The issuer comes first: what another one says is not read, nor what arrives at the callback of another one. */
function failureIn(
  { authorizationServers }: ConnectionParts,
  { target, callbackUri: expected }: AuthorizationAttempt,
  { issuer, error, callbackUri }: PopupReturn,
): AttemptFailure | null {
  if (callbackUri !== expected) {
    return 'issuer_mismatch';
  }
  try {
    authorizationServers.checkIssuer(target, issuer);
  } catch (mismatch) {
    if (mismatch instanceof AuthorizationFailure) {
      return reasonOf(mismatch.code);
    }
    throw mismatch;
  }
  switch (error) {
    case null:
      return null;
    case 'access_denied':
      return 'denied';
    case 'invalid_scope':
      return 'scope_rejected';
    case 'unauthorized_client':
    case 'invalid_client':
      return 'client_rejected';
    case 'temporarily_unavailable':
    case 'server_error':
      return 'provider_unavailable';
    default:
      return 'provider_error';
  }
}
