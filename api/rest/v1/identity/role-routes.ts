import '#api/plugins/route-config.ts';
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from '@fastify/type-provider-zod';
import * as contract from '#api/contract/identity.ts';
import { deleted, errorResponses } from '#api/contract/common.ts';
import { presentRole } from '#api/present/identity.ts';
import { toPage } from '#api/present/page.ts';
import { createRole } from '#domain/identity/roles/create-role.ts';
import { deleteRole } from '#domain/identity/roles/delete-role.ts';
import { listRoles } from '#domain/identity/roles/list-roles.ts';
import { readRole } from '#domain/identity/roles/read-role.ts';
import { setRolePermissions } from '#domain/identity/roles/set-role-permissions.ts';
import { updateRole } from '#domain/identity/roles/update-role.ts';
import { markCreated } from '../created.ts';
import { idempotencyOf } from '../idempotency.ts';

const tags = ['Roles'];
const reads = { none: 'reads' };

export async function roleRoutes(instance: FastifyInstance): Promise<void> {
  const app = instance.withTypeProvider<ZodTypeProvider>();

  app.post(
    '/admin/roles',
    {
      config: { permission: 'roles.create', audit: ['security.role_created'] },
      schema: {
        tags,
        operationId: 'createRole',
        summary: 'Create a role without permissions',
        headers: contract.createHeaders,
        body: contract.createRoleBody,
        response: { 200: contract.roleEnvelope, 201: contract.roleEnvelope, ...errorResponses },
      },
    },
    async (request, reply) => {
      const { headers, body } = request;
      const { role, replayed } = await request.inContext(null, (ctx) =>
        createRole(ctx, {
          key: body.key,
          name: body.name,
          description: body.description ?? null,
          idempotency: idempotencyOf(headers['idempotency-key'], '/v1/admin/roles', body),
        }),
      );
      markCreated(reply, replayed);
      return { data: presentRole(role) };
    },
  );

  app.get(
    '/admin/roles',
    {
      config: { permission: 'roles.read', audit: reads },
      schema: {
        tags,
        operationId: 'listRoles',
        summary: 'List the tenant’s roles, newest first, followed by the built-in roles',
        querystring: contract.listQuery,
        response: { 200: contract.rolePage, ...errorResponses },
      },
    },
    async (request) => {
      const { limit, cursor } = request.query;
      const page = await request.inContext(null, (ctx) => listRoles(ctx, { limit, cursor: cursor ?? null }));
      return toPage({ ...page, items: page.items.map(presentRole) });
    },
  );

  app.get(
    '/admin/roles/:role_id',
    {
      config: { permission: 'roles.read', audit: reads },
      schema: {
        tags,
        operationId: 'getRole',
        summary: 'Read a role',
        params: contract.roleParams,
        response: { 200: contract.roleEnvelope, ...errorResponses },
      },
    },
    async (request) => {
      const { role_id: roleId } = request.params;
      return { data: presentRole(await request.inContext(null, (ctx) => readRole(ctx, { roleId }))) };
    },
  );

  app.patch(
    '/admin/roles/:role_id',
    {
      config: { permission: 'roles.update', audit: ['security.role_updated'] },
      schema: {
        tags,
        operationId: 'updateRole',
        summary: 'Change a role’s name or description',
        params: contract.roleParams,
        body: contract.updateRoleBody,
        response: { 200: contract.roleEnvelope, ...errorResponses },
      },
    },
    async (request) => {
      const { role_id: roleId } = request.params;
      const role = await request.inContext(null, (ctx) => updateRole(ctx, { roleId, ...request.body }));
      return { data: presentRole(role) };
    },
  );

  app.put(
    '/admin/roles/:role_id/permissions',
    {
      config: { permission: 'roles.update', audit: ['security.role_updated'] },
      schema: {
        tags,
        operationId: 'setRolePermissions',
        summary: 'Replace the permissions of a role',
        description: 'The caller must hold the added permissions tenant-wide.',
        params: contract.roleParams,
        body: contract.setPermissionsBody,
        response: { 200: contract.roleEnvelope, ...errorResponses },
      },
    },
    async (request) => {
      const { role_id: roleId } = request.params;
      const { permissions } = request.body;
      const role = await request.inContext(null, (ctx) => setRolePermissions(ctx, { roleId, permissions }));
      return { data: presentRole(role) };
    },
  );

  app.delete(
    '/admin/roles/:role_id',
    {
      config: { permission: 'roles.delete', audit: ['security.role_deleted'] },
      schema: {
        tags,
        operationId: 'deleteRole',
        summary: 'Delete a role that nobody holds',
        params: contract.roleParams,
        response: { 200: deleted, ...errorResponses },
      },
    },
    async (request) => {
      const { role_id: roleId } = request.params;
      await request.inContext(null, (ctx) => deleteRole(ctx, { roleId }));
      return { data: { id: roleId, deleted: true as const } };
    },
  );
}
