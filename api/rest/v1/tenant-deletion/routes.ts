import '#api/plugins/route-config.ts';
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from '@fastify/type-provider-zod';
import type { GatewayDependencies } from '#api/compose.ts';
import { errorResponses } from '#api/contract/common.ts';
import { tenantParams } from '#api/contract/identity.ts';
import * as contract from '#api/contract/tenant-deletion.ts';
import { presentDeletion, presentRequested } from '#api/present/tenant-deletion.ts';
import { inDeletionOf } from '#api/tenant-deletion.ts';
import { bearerOf } from '#domain/identity/sessions/resolve-token.ts';
import { cancelDeletion } from '#domain/operations/tenant-deletion/cancel-deletion.ts';
import { openCertificate } from '#domain/operations/tenant-deletion/open-certificate.ts';
import { readDeletion } from '#domain/operations/tenant-deletion/read-deletion.ts';
import { requestDeletion } from '#domain/operations/tenant-deletion/request-deletion.ts';

const tags = ['Tenants'];
const reads = { none: 'reads' };
const one = '/admin/tenants/:tenant_id/deletion';

export function tenantDeletionRoutes(deps: GatewayDependencies) {
  return async (instance: FastifyInstance): Promise<void> => {
    const app = instance.withTypeProvider<ZodTypeProvider>();

    app.delete(
      '/admin/tenants/:tenant_id',
      {
        config: { permission: 'tenants.delete', audit: ['system.tenant_deletion_requested'] },
        schema: {
          tags,
          operationId: 'deleteTenant',
          summary: 'Have a tenant deleted, with everything that belongs to it',
          description:
            'Access ends at once: every operation of the tenant answers 403 `tenant_deleting`. The erasure begins after the grace time, until which it can be cancelled. A repeated request answers the same deletion.',
          params: tenantParams,
          querystring: contract.requestDeletionQuery,
          response: { 202: contract.requestedDeletion, ...errorResponses },
        },
      },
      async (request, reply) => {
        const { params, query } = request;
        const requested = await inDeletionOf({ deps, request }, params.tenant_id, (ctx) =>
          requestDeletion(ctx, {
            reasonCode: query.reason_code,
            graceSeconds: query.grace_seconds ?? null,
            defaultGraceSeconds: deps.config.DELETION_GRACE_SECONDS,
          }),
        );
        reply.status(202);
        return { data: presentRequested(requested) };
      },
    );

    app.get(
      one,
      {
        config: { permission: 'tenants.delete', audit: reads },
        schema: {
          tags,
          operationId: 'getTenantDeletion',
          summary: 'Read how far the deletion of a tenant is, and its certificate at the end',
          params: tenantParams,
          response: { 200: contract.deletionEnvelope, ...errorResponses },
        },
      },
      async (request) => ({
        data: presentDeletion(await inDeletionOf({ deps, request }, request.params.tenant_id, readDeletion)),
      }),
    );

    app.post(
      `${one}/cancel`,
      {
        config: { permission: 'tenants.delete', audit: ['system.tenant_deletion_cancelled'] },
        schema: {
          tags,
          operationId: 'cancelTenantDeletion',
          summary: 'Cancel the deletion of a tenant before its erasure begins',
          description: 'Restores the tenant as it was. A repeated request changes nothing.',
          params: tenantParams,
          response: { 200: contract.deletionEnvelope, ...errorResponses },
        },
      },
      async (request) => {
        const deletion = await inDeletionOf({ deps, request }, request.params.tenant_id, cancelDeletion);
        return { data: presentDeletion({ deletion, certificate: null }) };
      },
    );

    app.get(
      '/deletions/:deletion_id/certificate',
      {
        config: { public: 'the token of the request for the deletion is the credential', audit: reads },
        schema: {
          tags,
          operationId: 'getDeletionCertificate',
          summary: 'Read the certificate of a deletion, also when the tenant is gone',
          description: 'Takes the token that the request for the deletion answered, as a bearer token.',
          params: contract.deletionParams,
          security: [{ bearer: [] }],
          response: { 200: contract.signedCertificate, ...errorResponses },
        },
      },
      async (request) => {
        const token = bearerOf(request.headers.authorization);
        const { deletion_id: deletionId } = request.params;
        return request.asAttempt(deletionId, () => openCertificate(deps, { deletionId, token }));
      },
    );
  };
}
