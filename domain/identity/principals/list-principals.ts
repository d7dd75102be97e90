import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import type { Page } from '#domain/foundation/kernel/page.ts';
import { keysetPage } from '#domain/foundation/persistence/keyset-list.ts';
import { Principal } from './principal.entity.ts';

/** The tenant's users, service accounts and agents, newest first. @throws `missing_permission`, `invalid_cursor` */
export async function listPrincipals(
  ctx: Context,
  input: { limit: number; cursor: string | null },
): Promise<Page<Principal>> {
  authorize(ctx.caller, 'principals.read');
  return keysetPage(ctx, {
    entity: Principal,
    where: { deletedAt: null },
    ...input,
    operation: 'principals.list',
    filters: {},
  });
}
