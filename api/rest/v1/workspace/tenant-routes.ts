import '#api/plugins/route-config.ts';
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from '@fastify/type-provider-zod';
import type { GatewayDependencies } from '#api/compose.ts';
import * as contract from '#api/contract/identity.ts';
import { openedTenant, tenantEnvelope, tenantPage } from '#api/contract/administration.ts';
import { errorResponses } from '#api/contract/common.ts';
import { presentOpened } from '#api/present/identity.ts';
import { presentTenant } from '#api/present/administration.ts';
import { toPage } from '#api/present/page.ts';
import { callerOf, inTenantOf } from '#api/trpc/acting.ts';
import { listTenants, toRow } from '#domain/workspace/tenants/list-tenants.ts';
import { readTenant } from '#domain/workspace/tenants/read-tenant.ts';
import { registerTenant } from '#domain/workspace/tenants/register-tenant.ts';
import { suspendTenant } from '#domain/workspace/tenants/suspend-tenant.ts';
import { updateTenant } from '#domain/workspace/tenants/update-tenant.ts';
import { markCreated } from '../created.ts';
import { idempotencyOf } from '../idempotency.ts';

const tags = ['Tenants'];
const reads = { none: 'reads' };

export function tenantRoutes(deps: GatewayDependencies) {
  return async (instance: FastifyInstance): Promise<void> => {
    const app = instance.withTypeProvider<ZodTypeProvider>();

    app.post(
      '/admin/tenants',
      {
        config: { permission: 'tenants.create', audit: ['system.tenant_created'] },
        schema: {
          tags,
          operationId: 'createTenant',
          summary: 'Open a tenant with an owner, whose key is shown once',
          description: 'For operators of the platform.',
          headers: contract.createHeaders,
          body: contract.createTenantBody,
          response: { 200: openedTenant, 201: openedTenant, ...errorResponses },
        },
      },
      async (request, reply) => {
        const { headers, body } = request;
        const idempotency = idempotencyOf(headers['idempotency-key'], '/v1/admin/tenants', body);
        const operator = await callerOf({ request });
        const opened = await registerTenant(deps, operator, { ...body, idempotency });
        markCreated(reply, !('token' in opened));
        return { data: presentOpened(opened) };
      },
    );

    app.get(
      '/admin/tenants',
      {
        config: { permission: 'tenants.read', audit: reads },
        schema: {
          tags,
          operationId: 'listTenants',
          summary: 'List tenants, newest first: all for an operator, otherwise the caller’s own',
          querystring: contract.listQuery,
          response: { 200: tenantPage, ...errorResponses },
        },
      },
      async (request) => {
        const { limit, cursor } = request.query;
        const page = await request.inContext(null, (ctx) =>
          listTenants(ctx, { limit, cursor: cursor ?? null }),
        );
        return toPage({ ...page, items: page.items.map(presentTenant) });
      },
    );

    app.get(
      '/admin/tenants/:tenant_id',
      {
        config: { permission: 'tenants.read', audit: reads },
        schema: {
          tags,
          operationId: 'getTenant',
          summary: 'Read a tenant',
          params: contract.tenantParams,
          response: { 200: tenantEnvelope, ...errorResponses },
        },
      },
      async (request) => {
        const { tenant_id: id } = request.params;
        return { data: presentTenant(toRow(await inTenantOf({ request, deps }, id, readTenant))) };
      },
    );

    app.patch(
      '/admin/tenants/:tenant_id',
      {
        config: { permission: 'tenants.update', audit: ['system.tenant_updated'] },
        schema: {
          tags,
          operationId: 'updateTenant',
          summary: 'Rename a tenant',
          params: contract.tenantParams,
          body: contract.updateTenantBody,
          response: { 200: tenantEnvelope, ...errorResponses },
        },
      },
      async (request) => {
        const { tenant_id: id } = request.params;
        const tenant = await inTenantOf({ request, deps }, id, (ctx) => updateTenant(ctx, request.body));
        return { data: presentTenant(toRow(tenant)) };
      },
    );

    app.post(
      '/admin/tenants/:tenant_id/suspend',
      {
        config: { permission: 'tenants.suspend', audit: ['system.tenant_suspended'] },
        schema: {
          tags,
          operationId: 'suspendTenant',
          summary: 'Suspend a tenant',
          description: 'For operators of the platform. A repeated request changes nothing.',
          params: contract.tenantParams,
          response: { 200: tenantEnvelope, ...errorResponses },
        },
      },
      async (request) => {
        const { tenant_id: id } = request.params;
        const tenant = await inTenantOf({ request, deps }, id, (ctx) => suspendTenant(ctx, true));
        return { data: presentTenant(toRow(tenant)) };
      },
    );

    app.post(
      '/admin/tenants/:tenant_id/resume',
      {
        config: { permission: 'tenants.suspend', audit: ['system.tenant_resumed'] },
        schema: {
          tags,
          operationId: 'resumeTenant',
          summary: 'Reactivate a tenant',
          description: 'For operators of the platform. A repeated request changes nothing.',
          params: contract.tenantParams,
          response: { 200: tenantEnvelope, ...errorResponses },
        },
      },
      async (request) => {
        const { tenant_id: id } = request.params;
        const tenant = await inTenantOf({ request, deps }, id, (ctx) => suspendTenant(ctx, false));
        return { data: presentTenant(toRow(tenant)) };
      },
    );
  };
}
