import { randomBytes } from 'node:crypto';
import { IdentityProvider } from '#domain/identity/identity-providers/identity-provider.entity.ts';
import { hasIdForm } from '#domain/identity/identity-providers/provider-settings.ts';
import { DomainError, notFound } from '#domain/foundation/kernel/errors.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { connectionOf, hashFor, sealProof, type SignInParts } from './login-transaction.ts';
import { requireOpenTenant } from './require-open-tenant.ts';

const lifetimeMinutes = 10;

export interface StartLogin {
  /** Id or slug. */
  provider: string;
  /** Id or slug of the provider's tenant; null where the provider alone identifies it. */
  tenant: string | null;
  frontendRedirectUri: string | null;
  /**
   * The platform's callback address for the provider with this id, as registered there. Never of a slug: other tenants
   * may have the same.
   */
  callbackUri(providerId: string): string;
}

/** @returns the address for the browser, and the value of the cookie that binds the sign-in to it */
export interface StartedLogin {
  redirectUrl: string;
  cookie: string;
}

/**
 * Begins a sign-in and stores all of its parameters: no later step takes one from a header or an address.
 * @throws `identity_provider_not_found`, `invalid_request` where several tenants have a provider of this slug,
 *   `redirect_uri_not_allowed`, `identity_provider_unavailable`, `tenant_suspended`, `tenant_deleting`
 */
export async function startLogin(parts: SignInParts, input: StartLogin): Promise<StartedLogin> {
  const { unitOfWork, secrets, oidc } = parts;
  const found = await locateProvider(parts, input);
  const { provider, connection } = await unitOfWork.inTenant(found.tenantId, async (em) => {
    await requireOpenTenant(em, found.tenantId);
    const provider = await em.findOne(IdentityProvider, { id: found.id, status: 'active' });
    if (provider === null) {
      throw notFound('identity_provider_not_found');
    }
    return { provider, connection: await connectionOf(em, secrets, provider) };
  });
  const redirectUri = input.frontendRedirectUri ?? provider.redirectUris[0] ?? null;
  requireAllowed(provider, redirectUri);
  const [state, nonce, codeVerifier, cookie] = [secret(), secret(), secret(), secret()];
  const redirectUrl = await oidc.authorizationUrl(connection, {
    redirectUri: input.callbackUri(provider.id),
    state,
    nonce,
    codeVerifier,
  });
  const id = newId();
  const { tenantId } = provider;
  await unitOfWork.inTenant(tenantId, async (em) => {
    await em.execute(
      `insert into login_transactions
         (tenant_id, id, provider_id, state_hash, nonce_hash, cookie_hash, proof, redirect_uri, expires_at)
       values (?, ?, ?, ?, ?, ?, ?, ?, now() + make_interval(mins => ?))`,
      [
        tenantId,
        id,
        provider.id,
        hashFor(secrets, 'state', state),
        hashFor(secrets, 'nonce', nonce),
        hashFor(secrets, 'cookie', cookie),
        await sealProof({ em, secrets }, { tenantId, id }, { codeVerifier, nonce }),
        redirectUri,
        lifetimeMinutes,
      ],
    );
  });
  return { redirectUrl, cookie };
}

/**
 * Compared character by character: an address that only resolves to an allowed one is refused. @throws
 * `redirect_uri_not_allowed`
 */
export function requireAllowed(provider: IdentityProvider, redirectUri: string | null): void {
  if (redirectUri !== null && !provider.redirectUris.includes(redirectUri)) {
    throw redirectNotAllowed();
  }
}

export function redirectNotAllowed(): DomainError {
  return new DomainError(
    'redirect_uri_not_allowed',
    'frontend_redirect_uri is not on the list of this provider.',
    {
      param: 'frontend_redirect_uri',
    },
  );
}

async function locateProvider(
  { database }: SignInParts,
  { provider, tenant }: StartLogin,
): Promise<{ tenantId: string; id: string }> {
  const [row, other] = await database.call<{ tenant_id: string; id: string; open: boolean }>(
    'find_login_provider',
    'select * from app.find_login_provider($1, $2, $3, $4)',
    [...idOrSlug(tenant), ...idOrSlug(provider)],
  );
  if (other?.open === true) {
    // Anybody may give a provider of theirs this slug: none of them is taken for it.
    throw new DomainError(
      'invalid_request',
      'Several tenants have an identity provider of this slug: name the tenant by its id or slug, or the provider by its id.',
      { param: 'tenant' },
    );
  }
  if (row === undefined || (!row.open && other !== undefined)) {
    throw notFound('identity_provider_not_found');
  }
  return { tenantId: row.tenant_id, id: row.id };
}

function idOrSlug(name: string | null): [id: string | null, slug: string | null] {
  return name !== null && hasIdForm(name) ? [name, null] : [null, name];
}

function secret(): string {
  return randomBytes(32).toString('base64url');
}
