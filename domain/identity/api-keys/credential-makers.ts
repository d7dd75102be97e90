import { DomainError } from '#domain/foundation/kernel/errors.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import { loadCaller } from '#domain/foundation/access/load-caller.ts';
import { expand, refusal } from '#domain/foundation/access/policy.ts';
import { firstMissing } from '#domain/identity/roles/require-no-more.ts';
import { permissionsOf } from '#domain/identity/roles/role-permissions.ts';

type Acting = Pick<Context, 'caller' | 'em'>;

/**
 * The other principals that created the caller's credential, and so may know it too: of its key, or of the identities
 * that its session may come from, with the principal that confirmed their provider and so may control it. Empty when
 * the principal created it, or a first sign-in with a provider of the operator did.
 */
export async function makersOf({ caller, em }: Acting): Promise<string[]> {
  const rows = await em.execute<{ maker: string }[]>(
    `select unnest(makers) as maker from api_keys where id = ?
     union
     select unnest(i.makers) from sessions s
     join external_identities i
       on i.tenant_id = s.tenant_id and i.provider_id = s.provider_id and i.principal_id = s.principal_id
     where s.id = ?
     union
     select p.confirmed_by::text from sessions s
     join identity_providers p on p.tenant_id = s.tenant_id and p.id = s.provider_id
     where s.id = ? and p.confirmed_by <> s.principal_id`,
    [caller.apiKeyId, caller.sessionId ?? null, caller.sessionId ?? null],
  );
  return rows.map(({ maker }) => maker);
}

/** The makers of a credential that the caller creates for `principalId`, including the makers of the caller's own. */
export async function makersOfNew(ctx: Acting, principalId: string): Promise<string[]> {
  const makers = new Set([ctx.caller.principalId, ...(await makersOf(ctx))]);
  makers.delete(principalId);
  return [...makers];
}

/**
 * A role that the caller gains by its address belongs to the caller alone: each maker of its credential must hold the
 * role's permissions, now and in the caller's space, as if it created the credential now.
 * @throws `missing_permission` with the first permission that a maker lacks
 */
export async function requireMakersOfNoMore(ctx: Context, spaceId: string, roleKey: string): Promise<void> {
  const { caller, em } = ctx;
  const held = expand(await permissionsOf(em, roleKey));
  for (const principalId of await makersOf(ctx)) {
    const maker = { tenantId: caller.tenantId, principalId, apiKeyId: null, keyPermissions: null };
    const granted = await loadCaller(em, maker, caller.origin, spaceId).then(
      (found) => found.granted,
      (error: unknown) => {
        if (error instanceof DomainError && error.code === 'principal_disabled') {
          return new Set<never>();
        }
        throw error;
      },
    );
    const missing = firstMissing(held, granted);
    if (missing !== null) {
      throw refusal(caller, [missing], missing);
    }
  }
}
