import type { EntityManager } from '@mikro-orm/postgresql';
import { RoleAssignment } from '#domain/identity/roles/role-assignment.entity.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import type { IdentityProvider } from '#domain/identity/identity-providers/identity-provider.entity.ts';
import { requireConfirmed } from '#domain/identity/identity-providers/require-confirmed.ts';
import { firstRole } from '#domain/identity/identity-providers/require-provider-rights.ts';
import { cleanText } from '#domain/foundation/kernel/clean-text.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import type { Secrets } from '#domain/foundation/kernel/secrets.ts';
import { Principal } from '#domain/identity/principals/principal.entity.ts';
import { sealPrincipal } from '#domain/foundation/events/seal-principal.ts';
import type { IdTokenClaims } from './oidc-client.ts';

interface Admission {
  claims: IdTokenClaims;
  requestId: string;
  secrets: Secrets;
}

/**
 * Resolves a provider's subject to a principal, never by address. A new subject becomes a user with the role `member`
 * if the provider's setting allows it.
 * @returns null for a new subject that is not allowed
 * @throws `identity_provider_unconfirmed` for a new subject
 */
export async function admitIdentity(
  em: EntityManager,
  provider: IdentityProvider,
  login: Admission,
): Promise<string | null> {
  const known = await findIdentity(em, provider, login.claims.sub);
  if (known !== null || provider.provisioning === 'known') {
    return known;
  }
  const { tenantId } = provider;
  // Two concurrent first sign-ins of one subject create one user.
  await em.execute('select pg_advisory_xact_lock(hashtextextended(?, 0))', [
    `identity/${tenantId}/${provider.id}/${login.claims.sub}`,
  ]);
  return (await findIdentity(em, provider, login.claims.sub)) ?? createUser(em, provider, login);
}

async function findIdentity(
  em: EntityManager,
  provider: IdentityProvider,
  subject: string,
): Promise<string | null> {
  const [row] = await em.execute<{ principal_id: string }[]>(
    'select principal_id from external_identities where tenant_id = ? and provider_id = ? and subject = ?',
    [provider.tenantId, provider.id, subject],
  );
  return row?.principal_id ?? null;
}

async function createUser(
  em: EntityManager,
  provider: IdentityProvider,
  { claims, requestId, secrets }: Admission,
): Promise<string> {
  const { tenantId } = provider;
  const origin = { via: 'api', requestId } as const;
  await requireConfirmed({ em, secrets, origin }, provider);
  const id = newId();
  const principal = em.create(Principal, {
    tenantId,
    id,
    type: 'user',
    name: textClaim(claims.name, 200),
    // Invites trust a user's address: an unverified address is not stored.
    email: claims.email_verified === true ? textClaim(claims.email, 320) : null,
  });
  await em.flush();
  await sealPrincipal({ em, secrets }, principal);
  em.create(RoleAssignment, { tenantId, principalId: id, roleKey: firstRole });
  await em.flush();
  await em.execute(
    'insert into external_identities (tenant_id, provider_id, subject, principal_id) values (?, ?, ?, ?)',
    [tenantId, provider.id, claims.sub, id],
  );
  const actor = {
    tenantId,
    principalId: id,
    principalType: 'user',
    origin,
  } as const;
  await recordEvent(em, actor, {
    type: 'security.principal_created',
    resource: { type: 'principal', id },
    metadata: { principal_type: 'user', identity_provider_id: provider.id, role: firstRole },
  });
  return id;
}

function textClaim(value: unknown, maxLength: number): string | null {
  const text = typeof value === 'string' ? cleanText(value).trim() : '';
  return text === '' || text.length > maxLength ? null : text;
}
