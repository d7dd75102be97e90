import { invalidCredentials } from '#domain/foundation/kernel/errors.ts';
import { IdentityProvider } from '#domain/identity/identity-providers/identity-provider.entity.ts';
import { isToken } from '#domain/identity/sessions/bearer-token.ts';
import { hashFor, locateLogin, type SignInParts } from './login-transaction.ts';
import { openSession, type OpenedSession } from './open-session.ts';
import { requireOpenTenant } from './require-open-tenant.ts';

export interface RedeemHandle {
  provider: string | null;
  handle: string;
  cookie: string | null;
  expiresIn: number | null;
  /** See `openSession`. */
  device: string | null;
  requestId: string;
}

/**
 * Opens the session that the callback has proved, for the browser that began the sign-in: once, within a minute.
 * @throws `invalid_credentials` for every cause alike, `principal_disabled`, `tenant_suspended`
 */
export async function redeemHandle(parts: SignInParts, input: RedeemHandle): Promise<OpenedSession> {
  const { handle, cookie, requestId } = input;
  const place = isToken('lh', handle) && cookie !== null ? await locateLogin(parts, 'handle', handle) : null;
  if (place === null || cookie === null) {
    throw invalidCredentials();
  }
  const { tenantId } = place;
  const { secrets } = parts;
  return parts.unitOfWork.inTenant(tenantId, async (em) => {
    await requireOpenTenant(em, tenantId);
    const [row] = await em.execute<{ provider_id: string; principal_id: string }[]>(
      `update login_transactions set handle_hash = null
       where tenant_id = ? and id = ? and handle_hash = ? and cookie_hash = ? and handle_expires_at > now()
         and principal_id is not null
       returning provider_id, principal_id`,
      [tenantId, place.id, hashFor(secrets, 'handle', handle), hashFor(secrets, 'cookie', cookie)],
    );
    const provider = row === undefined ? null : await em.findOne(IdentityProvider, { id: row.provider_id });
    const named = input.provider === null || [provider?.id, provider?.slug].includes(input.provider);
    if (row === undefined || provider?.status !== 'active' || !named) {
      throw invalidCredentials();
    }
    return openSession(
      { em, secrets },
      {
        tenantId,
        principalId: row.principal_id,
        provider,
        maxLifetime: input.expiresIn,
        device: input.device,
        requestId,
      },
    );
  });
}
