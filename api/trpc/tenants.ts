import { openedTenant, tenantEnvelope, tenantPage } from '#api/contract/administration.ts';
import { createTenantInput, listInput, tenantInput, updateTenantInput } from '#api/contract/procedures.ts';
import { presentOpened } from '#api/present/identity.ts';
import { presentTenant } from '#api/present/administration.ts';
import { toPage } from '#api/present/page.ts';
import { listTenants, toRow } from '#domain/workspace/tenants/list-tenants.ts';
import { readTenant } from '#domain/workspace/tenants/read-tenant.ts';
import { registerTenant } from '#domain/workspace/tenants/register-tenant.ts';
import { suspendTenant } from '#domain/workspace/tenants/suspend-tenant.ts';
import { updateTenant } from '#domain/workspace/tenants/update-tenant.ts';
import { callerOf, inTenantOf } from './acting.ts';
import { procedure, reads, router } from './trpc.ts';

export const tenants = router({
  list: procedure({ permission: 'tenants.read', audit: reads })
    .input(listInput)
    .output(tenantPage)
    .query(async ({ ctx: { request }, input: { limit, cursor } }) => {
      const page = await request.inContext(null, (ctx) =>
        listTenants(ctx, { limit, cursor: cursor ?? null }),
      );
      return toPage({ ...page, items: page.items.map(presentTenant) });
    }),

  get: procedure({ permission: 'tenants.read', audit: reads })
    .input(tenantInput)
    .output(tenantEnvelope)
    .query(async ({ ctx, input }) => ({
      data: presentTenant(toRow(await inTenantOf(ctx, input.tenant_id, readTenant))),
    })),

  create: procedure({ permission: 'tenants.create', audit: ['system.tenant_created'] })
    .input(createTenantInput)
    .output(openedTenant)
    .mutation(async ({ ctx, input }) => {
      const opened = await registerTenant(ctx.deps, await callerOf(ctx), input);
      return { data: presentOpened(opened) };
    }),

  update: procedure({ permission: 'tenants.update', audit: ['system.tenant_updated'] })
    .input(updateTenantInput)
    .output(tenantEnvelope)
    .mutation(async ({ ctx, input: { tenant_id: id, ...change } }) => ({
      data: presentTenant(toRow(await inTenantOf(ctx, id, (work) => updateTenant(work, change)))),
    })),

  suspend: procedure({ permission: 'tenants.suspend', audit: ['system.tenant_suspended'] })
    .input(tenantInput)
    .output(tenantEnvelope)
    .mutation(async ({ ctx, input }) => ({
      data: presentTenant(toRow(await inTenantOf(ctx, input.tenant_id, (work) => suspendTenant(work, true)))),
    })),

  resume: procedure({ permission: 'tenants.suspend', audit: ['system.tenant_resumed'] })
    .input(tenantInput)
    .output(tenantEnvelope)
    .mutation(async ({ ctx, input }) => ({
      data: presentTenant(
        toRow(await inTenantOf(ctx, input.tenant_id, (work) => suspendTenant(work, false))),
      ),
    })),
});
