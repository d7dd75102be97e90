import { authorize } from '#domain/foundation/access/policy.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import { decodeCursor, encodeCursor, type Page } from '#domain/foundation/kernel/page.ts';
import { readTenant } from './read-tenant.ts';
import type { Tenant } from './tenant.entity.ts';

export interface TenantRow {
  tenant_id: string;
  slug: string;
  name: string;
  status: string;
  is_platform: boolean;
  created_at: string;
}

/**
 * Newest first: every tenant for an operator, the caller's own for all others. @throws `missing_permission`,
 * `invalid_cursor`
 */
export async function listTenants(
  ctx: Context,
  input: { limit: number; cursor: string | null },
): Promise<Page<TenantRow>> {
  authorize(ctx.caller, 'tenants.read');
  const scope = { tenantId: ctx.caller.tenantId, operation: 'tenants.list', filters: {} };
  const after = input.cursor === null ? null : decodeCursor(ctx.secrets, scope, input.cursor);
  if (!ctx.caller.isPlatform) {
    return { items: [toRow(await readTenant(ctx))], nextCursor: null };
  }
  const rows = await ctx.em.execute<TenantRow[]>('select * from app.list_tenants(?, ?)', [
    after?.id ?? null,
    input.limit + 1,
  ]);
  const items = rows.slice(0, input.limit);
  const last = items.at(-1);
  return {
    items,
    nextCursor:
      last === undefined || rows.length <= input.limit
        ? null
        : encodeCursor(ctx.secrets, scope, { createdAt: '', id: last.tenant_id }),
  };
}

export function toRow(tenant: Tenant): TenantRow {
  return {
    tenant_id: tenant.id,
    slug: tenant.slug,
    name: tenant.name,
    status: tenant.status,
    is_platform: tenant.isPlatform,
    created_at: tenant.createdAt.toISOString(),
  };
}
