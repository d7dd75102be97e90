import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import { findEditableRole } from './find-role.ts';
import { authorize } from '#domain/foundation/access/policy.ts';

/**
 * Deletes a role that no principal holds and no pending invite names: revoking permissions is a separate operation.
 * @throws `missing_permission`, `role_not_found`, `invalid_state` for a built-in role and for one in use
 */
export async function deleteRole(ctx: Context, input: { roleId: string }): Promise<void> {
  const { caller, em } = ctx;
  authorize(caller, 'roles.delete');
  const role = await findEditableRole(ctx, input.roleId);
  const [use] = await em.execute<{ used: boolean }[]>(
    `select exists (select from role_assignments where role_key = ?)
         or exists (select from space_members where role_key = ?)
         or exists (select from project_members where role_key = ?)
         or exists (select from invites where role_key = ? and status = 'pending' and expires_at > now()) as used`,
    [role.key, role.key, role.key, role.key],
  );
  if (use?.used !== false) {
    throw new DomainError('invalid_state', 'This role is in use.');
  }
  await em.remove(role).flush();
  await recordEvent(em, caller, {
    type: 'security.role_deleted',
    resource: { type: 'role', id: role.id },
    metadata: { key: role.key },
  });
}
