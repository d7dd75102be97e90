import { roleEnvelope, rolePage } from '#api/contract/identity.ts';
import { deleted } from '#api/contract/common.ts';
import * as inputs from '#api/contract/procedures.ts';
import { presentRole } from '#api/present/identity.ts';
import { toPage } from '#api/present/page.ts';
import { createRole } from '#domain/identity/roles/create-role.ts';
import { deleteRole } from '#domain/identity/roles/delete-role.ts';
import { listRoles } from '#domain/identity/roles/list-roles.ts';
import { readRole } from '#domain/identity/roles/read-role.ts';
import { setRolePermissions } from '#domain/identity/roles/set-role-permissions.ts';
import { updateRole } from '#domain/identity/roles/update-role.ts';
import { procedure, reads, router } from './trpc.ts';

export const roles = router({
  list: procedure({ permission: 'roles.read', audit: reads })
    .input(inputs.listInput)
    .output(rolePage)
    .query(async ({ ctx: { request }, input: { limit, cursor } }) => {
      const page = await request.inContext(null, (ctx) => listRoles(ctx, { limit, cursor: cursor ?? null }));
      return toPage({ ...page, items: page.items.map(presentRole) });
    }),

  get: procedure({ permission: 'roles.read', audit: reads })
    .input(inputs.roleInput)
    .output(roleEnvelope)
    .query(async ({ ctx: { request }, input: { role_id: roleId } }) => ({
      data: presentRole(await request.inContext(null, (ctx) => readRole(ctx, { roleId }))),
    })),

  create: procedure({ permission: 'roles.create', audit: ['security.role_created'] })
    .input(inputs.createRoleInput)
    .output(roleEnvelope)
    .mutation(async ({ ctx: { request }, input: { key, name, description } }) => {
      const { role } = await request.inContext(null, (ctx) =>
        createRole(ctx, { key, name, description: description ?? null }),
      );
      return { data: presentRole(role) };
    }),

  update: procedure({ permission: 'roles.update', audit: ['security.role_updated'] })
    .input(inputs.updateRoleInput)
    .output(roleEnvelope)
    .mutation(async ({ ctx: { request }, input: { role_id: roleId, ...change } }) => ({
      data: presentRole(await request.inContext(null, (ctx) => updateRole(ctx, { roleId, ...change }))),
    })),

  setPermissions: procedure({ permission: 'roles.update', audit: ['security.role_updated'] })
    .input(inputs.setPermissionsInput)
    .output(roleEnvelope)
    .mutation(async ({ ctx: { request }, input: { role_id: roleId, permissions } }) => ({
      data: presentRole(
        await request.inContext(null, (ctx) => setRolePermissions(ctx, { roleId, permissions })),
      ),
    })),

  delete: procedure({ permission: 'roles.delete', audit: ['security.role_deleted'] })
    .input(inputs.roleInput)
    .output(deleted)
    .mutation(async ({ ctx: { request }, input: { role_id: roleId } }) => {
      await request.inContext(null, (ctx) => deleteRole(ctx, { roleId }));
      return { data: { id: roleId, deleted: true as const } };
    }),
});
