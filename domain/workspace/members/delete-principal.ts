import { announceChange } from '#domain/foundation/access/announce-change.ts';
import { revokeLiveKeys } from '#domain/identity/api-keys/live-keys.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { lockOwners, requireAnotherOwner } from '#domain/identity/grants/require-an-owner.ts';
import { resealForRevocation, withdrawOf } from '#domain/capabilities/connections/withdraw-connections.ts';
import { RoleAssignment } from '#domain/identity/roles/role-assignment.entity.ts';
import { beginErasure } from '#domain/foundation/erasures/begin-erasure.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { eraseAddress } from '#domain/workspace/invites/erase-address.ts';
import { endSessions } from '#domain/identity/sessions/end-sessions.ts';
import { SpaceMember } from '#domain/identity/roles/space-member.entity.ts';
import { lockPrincipal } from '#domain/identity/principals/find-principal.ts';

/**
 * Deletes a principal's grants and personal data. Its keys and sessions end with the commit. Its roles, memberships,
 * name, address (also in invites), links to identity providers and the keys of fields sealed for it alone are
 * deleted. Its connections to tool servers are withdrawn. Its running work is cancelled and what is its own alone is
 * erased afterwards. The id stays, because rows and the log refer to it.
 * @throws `missing_permission`, `principal_not_found`, `invalid_state` for the last owner, and the refusals of
 *   `lockOwners`
 */
export async function deletePrincipal(outer: Context, input: { principalId: string }): Promise<void> {
  authorize(outer.caller, 'principals.delete');
  const ctx = await lockOwners(outer, ['principals.delete']);
  const { caller, em } = ctx;
  await requireAnotherOwner(em, input.principalId);
  const principal = await lockPrincipal(ctx, input.principalId);
  const { id: principalId, email } = principal;
  const keys = await revokeLiveKeys(em, { tenantId: caller.tenantId, principalId });
  const roles = await em.nativeDelete(RoleAssignment, { principalId });
  // Memberships of projects are deleted with those of their spaces.
  const spaces = await em.nativeDelete(SpaceMember, { principalId });
  await withdrawOf(ctx, { ownerId: principalId }, 'principal_deleted');
  await resealForRevocation(ctx, principalId);
  const sessions = await endSessions(em, { principalId, reason: 'principal_deleted' });
  await em.execute('delete from external_identities where principal_id = ?', [principalId]);
  if (email != null) {
    await eraseAddress(ctx, { of: principalId, address: email });
  }
  await recordEvent(em, caller, {
    type: 'security.principal_deleted',
    resource: { type: 'principal', id: principalId },
    metadata: { principal_type: principal.type, api_keys: keys, sessions: sessions.length, roles, spaces },
  });
  // After the events: when a principal deletes itself, they are sealed with its keys, too.
  await em.execute('delete from data_keys where principal_id = ?', [principalId]);
  Object.assign(principal, { name: null, email: null, status: 'disabled' });
  await em.flush();
  await beginErasure(ctx, 'principal', principalId);
  await announceChange(em, caller.tenantId);
}
