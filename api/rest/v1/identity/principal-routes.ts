import '#api/plugins/route-config.ts';
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from '@fastify/type-provider-zod';
import * as contract from '#api/contract/identity.ts';
import { principalEnvelope, principalPage } from '#api/contract/administration.ts';
import { deleted, errorResponses } from '#api/contract/common.ts';
import { presentRole } from '#api/present/identity.ts';
import { presentPrincipal } from '#api/present/administration.ts';
import { toPage } from '#api/present/page.ts';
import { assignRole, unassignRole } from '#domain/identity/grants/assign-role.ts';
import { listAssignedRoles } from '#domain/identity/grants/list-assigned-roles.ts';
import { createPrincipal } from '#domain/identity/principals/create-principal.ts';
import { deletePrincipal } from '#domain/workspace/members/delete-principal.ts';
import { listPrincipals } from '#domain/identity/principals/list-principals.ts';
import { readPrincipal } from '#domain/identity/principals/read-principal.ts';
import { updatePrincipal } from '#domain/identity/grants/update-principal.ts';
import { markCreated } from '../created.ts';
import { idempotencyOf } from '../idempotency.ts';

const tags = ['Principals'];
const reads = { none: 'reads' };

export async function principalRoutes(instance: FastifyInstance): Promise<void> {
  const app = instance.withTypeProvider<ZodTypeProvider>();

  app.post(
    '/admin/principals',
    {
      config: { permission: 'principals.create', audit: ['security.principal_created'] },
      schema: {
        tags,
        operationId: 'createPrincipal',
        summary: 'Create a user, service account or agent without permissions',
        headers: contract.createHeaders,
        body: contract.createPrincipalBody,
        response: { 200: principalEnvelope, 201: principalEnvelope, ...errorResponses },
      },
    },
    async (request, reply) => {
      const { headers, body } = request;
      const { principal, replayed } = await request.inContext(null, (ctx) =>
        createPrincipal(ctx, {
          type: body.type,
          name: body.name ?? null,
          email: body.email ?? null,
          idempotency: idempotencyOf(headers['idempotency-key'], '/v1/admin/principals', body),
        }),
      );
      markCreated(reply, replayed);
      return { data: presentPrincipal(principal) };
    },
  );

  app.get(
    '/admin/principals',
    {
      config: { permission: 'principals.read', audit: reads },
      schema: {
        tags,
        operationId: 'listPrincipals',
        summary: 'List the tenant’s principals, newest first',
        querystring: contract.listQuery,
        response: { 200: principalPage, ...errorResponses },
      },
    },
    async (request) => {
      const { limit, cursor } = request.query;
      const page = await request.inContext(null, (ctx) =>
        listPrincipals(ctx, { limit, cursor: cursor ?? null }),
      );
      return toPage({ ...page, items: page.items.map(presentPrincipal) });
    },
  );

  app.get(
    '/admin/principals/:principal_id',
    {
      config: { permission: 'principals.read', audit: reads },
      schema: {
        tags,
        operationId: 'getPrincipal',
        summary: 'Read a principal',
        params: contract.principalParams,
        response: { 200: principalEnvelope, ...errorResponses },
      },
    },
    async (request) => {
      const { principal_id: principalId } = request.params;
      const principal = await request.inContext(null, (ctx) => readPrincipal(ctx, { principalId }));
      return { data: presentPrincipal(principal) };
    },
  );

  app.patch(
    '/admin/principals/:principal_id',
    {
      config: { permission: 'principals.update', audit: ['security.principal_updated'] },
      schema: {
        tags,
        operationId: 'updatePrincipal',
        summary: 'Rename, disable or enable a principal',
        params: contract.principalParams,
        body: contract.updatePrincipalBody,
        response: { 200: principalEnvelope, ...errorResponses },
      },
    },
    async (request) => {
      const { principal_id: principalId } = request.params;
      const principal = await request.inContext(null, (ctx) =>
        updatePrincipal(ctx, { principalId, ...request.body }),
      );
      return { data: presentPrincipal(principal) };
    },
  );

  app.delete(
    '/admin/principals/:principal_id',
    {
      config: {
        permission: 'principals.delete',
        audit: [
          'security.principal_deleted',
          'space.invite_revoked',
          'space.invite_expired',
          'security.mcp_auth_revoked',
        ],
      },
      schema: {
        tags,
        operationId: 'deletePrincipal',
        summary: 'Delete a principal with its keys, roles and memberships',
        params: contract.principalParams,
        response: { 200: deleted, ...errorResponses },
      },
    },
    async (request) => {
      const { principal_id: principalId } = request.params;
      await request.inContext(null, (ctx) => deletePrincipal(ctx, { principalId }));
      return { data: { id: principalId, deleted: true as const } };
    },
  );

  app.get(
    '/admin/principals/:principal_id/roles',
    {
      config: { permission: 'roles.read', audit: reads },
      schema: {
        tags,
        operationId: 'listPrincipalRoles',
        summary: 'List the tenant-wide roles of a principal',
        params: contract.principalParams,
        response: { 200: contract.roleList, ...errorResponses },
      },
    },
    async (request) => {
      const { principal_id: principalId } = request.params;
      const roles = await request.inContext(null, (ctx) => listAssignedRoles(ctx, { principalId }));
      return { data: roles.map(presentRole) };
    },
  );

  app.put(
    '/admin/principals/:principal_id/roles/:role_id',
    {
      config: { permission: 'roles.assign', audit: ['security.role_assigned'] },
      schema: {
        tags,
        operationId: 'assignRole',
        summary: 'Grant a principal a tenant-wide role',
        params: contract.assignmentParams,
        response: { 200: contract.roleEnvelope, ...errorResponses },
      },
    },
    async (request) => {
      const { principal_id: principalId, role_id: roleId } = request.params;
      const role = await request.inContext(null, (ctx) => assignRole(ctx, { principalId, roleId }));
      return { data: presentRole(role) };
    },
  );

  app.delete(
    '/admin/principals/:principal_id/roles/:role_id',
    {
      config: { permission: 'roles.assign', audit: ['security.role_unassigned'] },
      schema: {
        tags,
        operationId: 'unassignRole',
        summary: 'Revoke a tenant-wide role of a principal',
        params: contract.assignmentParams,
        response: { 200: deleted, ...errorResponses },
      },
    },
    async (request) => {
      const { principal_id: principalId, role_id: roleId } = request.params;
      await request.inContext(null, (ctx) => unassignRole(ctx, { principalId, roleId }));
      return { data: { id: roleId, deleted: true as const } };
    },
  );
}
