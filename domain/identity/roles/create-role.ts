import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { claimKey, type IdempotentRequest } from '#domain/foundation/idempotency/idempotency.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { mapUniqueViolation } from '#domain/foundation/persistence/map-unique-violation.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import { findRole } from './find-role.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { isBuiltIn } from './role-ids.ts';
import { viewRole, type RoleView } from './role-view.ts';
import { Role } from './role.entity.ts';

export interface NewRole {
  /** `^[a-z][a-z0-9_]{1,62}$`, unique in the tenant. */
  key: string;
  name: string;
  description: string | null;
  idempotency?: IdempotentRequest | null;
}

/**
 * Creates a role without permissions. @throws `missing_permission`, `already_exists`, and the refusals of `claimKey`
 */
export async function createRole(
  ctx: Context,
  input: NewRole,
): Promise<{ role: RoleView; replayed: boolean }> {
  const { caller, em } = ctx;
  authorize(caller, 'roles.create');
  const id = newId();
  const claimed = input.idempotency ? await claimKey(ctx, input.idempotency, id) : id;
  if (claimed !== id) {
    return { role: await findRole(ctx, claimed), replayed: true };
  }
  const { key, name, description } = input;
  if (isBuiltIn(key)) {
    throw new DomainError('already_exists', 'This key belongs to a built-in role.', { param: 'key' });
  }
  const role = em.create(Role, { tenantId: caller.tenantId, id, key, name, description, permissions: [] });
  await em.flush().catch(mapUniqueViolation('A role with this key exists.', 'key'));
  await recordEvent(em, caller, {
    type: 'security.role_created',
    resource: { type: 'role', id },
    metadata: { key },
  });
  return { role: viewRole(await em.refreshOrFail(role)), replayed: false };
}
