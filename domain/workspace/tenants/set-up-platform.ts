import type { EntityManager } from '@mikro-orm/postgresql';
import { createApiKey } from '#domain/identity/api-keys/create-api-key.ts';
import { RoleAssignment } from '#domain/identity/roles/role-assignment.entity.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import type { Actor } from '#domain/foundation/access/caller.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import type { Secrets } from '#domain/foundation/kernel/secrets.ts';
import { Principal } from '#domain/identity/principals/principal.entity.ts';
import { sealPrincipal } from '#domain/foundation/events/seal-principal.ts';
import { platformSlug, platformTenantId } from './platform-tenant.ts';
import { Tenant } from './tenant.entity.ts';

/**
 * Creates an operator with a key in the platform tenant, and that tenant if it does not exist. Runs in that tenant's
 * context and needs the database's password: nothing else can create the first operator.
 */
export async function setUpPlatform(
  em: EntityManager,
  secrets: Secrets,
  origin: Actor['origin'],
): Promise<{ principalId: string; token: string }> {
  const tenantId = platformTenantId;
  const operator = { id: newId(), type: 'service_account' as const, name: 'operator' };
  const actor: Actor = { tenantId, principalId: operator.id, principalType: operator.type, origin };
  const known = await em.findOne(Tenant, { id: tenantId }, { filters: false });
  if (known === null) {
    em.create(Tenant, { id: tenantId, slug: platformSlug, name: 'Platform', isPlatform: true });
    await em.flush();
    const resource = { type: 'tenant', id: tenantId } as const;
    await recordEvent(em, actor, { type: 'system.tenant_created', resource });
  }
  const principal = em.create(Principal, { tenantId, ...operator });
  await em.flush();
  await sealPrincipal({ em, secrets }, principal);
  em.create(RoleAssignment, { tenantId, principalId: operator.id, roleKey: 'platform_operator' });
  await recordEvent(em, actor, {
    type: 'security.principal_created',
    resource: { type: 'principal', id: operator.id },
    metadata: { role: 'platform_operator' },
  });
  const key = await createApiKey(
    { em, secrets, actor },
    { principalId: operator.id, name: 'bootstrap', permissions: null },
  );
  return { principalId: operator.id, token: key.token };
}
