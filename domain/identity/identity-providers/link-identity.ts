import type { Context } from '#domain/foundation/access/context.ts';
import { makersOfNew } from '#domain/identity/api-keys/credential-makers.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { requireNoMore } from '#domain/identity/roles/require-no-more.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { DomainError, invalid } from '#domain/foundation/kernel/errors.ts';
import { findPrincipal } from '#domain/identity/principals/find-principal.ts';
import { holdProvider } from './read-providers.ts';

/**
 * Links a subject of the provider to a user of the tenant, so that the user can sign in without an earlier sign-in. A
 * repeat changes nothing.
 * @throws `missing_permission`, also where that user has a permission that the caller, or the caller's key, lacks;
 *   `identity_provider_not_found`, `principal_not_found`, `already_exists` for a subject of another user
 */
export async function linkIdentity(
  ctx: Context,
  input: { providerId: string; principalId: string; subject: string },
): Promise<{ providerId: string; principalId: string; subject: string }> {
  const { caller, em } = ctx;
  authorize(caller, 'identity_providers.manage');
  const { id: providerId } = await holdProvider(ctx, input.providerId);
  const principal = await findPrincipal(ctx, input.principalId);
  if (principal.type !== 'user') {
    throw invalid('principal_id', 'Only users sign in.');
  }
  const { tenantId } = caller;
  await requireNoMore(ctx, { tenantId, principalId: principal.id, apiKeyId: null, keyPermissions: null });
  const inserted = await em.execute(
    `insert into external_identities (tenant_id, provider_id, subject, principal_id, makers)
     values (?, ?, ?, ?, array(select jsonb_array_elements_text(?::jsonb)))
     on conflict do nothing returning subject`,
    [tenantId, providerId, input.subject, principal.id, JSON.stringify(await makersOfNew(ctx, principal.id))],
  );
  if (inserted.length > 0) {
    await recordEvent(em, caller, {
      type: 'security.identity_provider_changed',
      resource: { type: 'identity_provider', id: providerId },
      metadata: { change: 'identity_linked', principal_id: principal.id },
    });
  } else if ((await ownerOf(ctx, providerId, input.subject)) !== principal.id) {
    throw new DomainError('already_exists', 'This subject is another user.', { param: 'subject' });
  }
  return { providerId, principalId: principal.id, subject: input.subject };
}

async function ownerOf({ em }: Context, providerId: string, subject: string): Promise<string | undefined> {
  const [row] = await em.execute<{ principal_id: string }[]>(
    'select principal_id from external_identities where provider_id = ? and subject = ?',
    [providerId, subject],
  );
  return row?.principal_id;
}
