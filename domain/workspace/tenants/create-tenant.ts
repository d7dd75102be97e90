import type { EntityManager } from '@mikro-orm/postgresql';
import { RoleAssignment } from '#domain/identity/roles/role-assignment.entity.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import type { Actor } from '#domain/foundation/access/caller.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import { mapUniqueViolation } from '#domain/foundation/persistence/map-unique-violation.ts';
import { Principal } from '#domain/identity/principals/principal.entity.ts';
import { platformSlug } from './platform-tenant.ts';
import { Tenant } from './tenant.entity.ts';

export interface NewTenant {
  id: string;
  slug: string;
  name: string;
  owner: { id: string; type: Principal['type']; name: string };
}

/**
 * Creates a tenant with its first owner, in the new tenant's own context. @throws `already_exists` for a slug that is
 * taken or reserved
 */
export async function createTenant(
  em: EntityManager,
  input: NewTenant,
  origin: Actor['origin'],
): Promise<Actor> {
  const actor: Actor = {
    tenantId: input.id,
    principalId: input.owner.id,
    principalType: input.owner.type,
    origin,
  };
  if (input.slug === platformSlug) {
    // If another tenant took this slug, the platform tenant could not be created.
    throw new DomainError('already_exists', 'This slug is reserved.', { param: 'slug' });
  }
  em.create(Tenant, { id: input.id, slug: input.slug, name: input.name });
  await em.flush().catch(mapUniqueViolation('A tenant with this slug exists.', 'slug'));
  em.create(Principal, { tenantId: input.id, ...input.owner });
  await em.flush();
  em.create(RoleAssignment, { tenantId: input.id, principalId: input.owner.id, roleKey: 'owner' });
  await recordEvent(em, actor, { type: 'system.tenant_created', resource: { type: 'tenant', id: input.id } });
  return actor;
}
