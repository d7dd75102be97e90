import { reachesOwn } from '#domain/foundation/access/authorize-own.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import { refusal } from '#domain/foundation/access/policy.ts';
import { rolesGranting } from '#domain/identity/roles/roles-granting.ts';

const permission = 'notifications.read';

/**
 * The caller's id, by which its own notifications are found. They belong to no space, so the permission in the tenant
 * or in any of its spaces is enough. @throws `missing_permission`
 */
export async function ownNotifications({ caller, em }: Context): Promise<string> {
  if (caller.granted.has(permission)) {
    return caller.principalId;
  }
  if (reachesOwn(caller, permission)) {
    const [row] = await em.execute<{ holds: boolean }[]>(
      `select exists (select from space_members where tenant_id = ? and principal_id = ?
         and role_key in (select jsonb_array_elements_text(?::jsonb))) as holds`,
      [caller.tenantId, caller.principalId, JSON.stringify(await rolesGranting(em, permission))],
    );
    if (row?.holds === true) {
      return caller.principalId;
    }
  }
  throw refusal(caller, [permission], permission);
}
