import { decodeCursor, encodeCursor, type Page } from '#domain/foundation/kernel/page.ts';
import { keysetPage } from '#domain/foundation/persistence/keyset-list.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { viewBuiltIn, viewRole, type RoleView } from './role-view.ts';
import { Role } from './role.entity.ts';
import { builtInRoles } from '#domain/foundation/access/roles.ts';

/** Cursor position among the built-in roles, which have no creation time. */
const amongBuiltIn = '';

/**
 * The tenant's own roles, newest first, then the built-in ones.
 * @throws `missing_permission`, `invalid_cursor`
 */
export async function listRoles(
  ctx: Context,
  input: { limit: number; cursor: string | null },
): Promise<Page<RoleView>> {
  authorize(ctx.caller, 'roles.read');
  const list = { operation: 'roles.list', filters: {} };
  const scope = { tenantId: ctx.caller.tenantId, ...list };
  const after = input.cursor === null ? null : decodeCursor(ctx.secrets, scope, input.cursor);
  const isBehind = after?.createdAt === amongBuiltIn;
  const own = isBehind
    ? { items: [], nextCursor: null }
    : await keysetPage(ctx, { entity: Role, where: {}, ...input, ...list });
  const items = own.items.map(viewRole);
  if (own.nextCursor !== null) {
    return { items, nextCursor: own.nextCursor };
  }
  const builtIn = Object.keys(builtInRoles)
    .filter((key) => ctx.caller.isPlatform || key !== 'platform_operator')
    .map(viewBuiltIn);
  const from = isBehind ? builtIn.findIndex(({ id }) => id === after.id) + 1 : 0;
  const shown = builtIn.slice(from, from + input.limit - items.length);
  const isLast = from + shown.length === builtIn.length;
  const id = shown.at(-1)?.id ?? '';
  return {
    items: [...items, ...shown],
    nextCursor: isLast ? null : encodeCursor(ctx.secrets, scope, { createdAt: amongBuiltIn, id }),
  };
}
