import '#api/plugins/route-config.ts';
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from '@fastify/type-provider-zod';
import { deleted, errorResponses } from '#api/contract/common.ts';
import * as contract from '#api/contract/credentials.ts';
import { createHeaders, listQuery } from '#api/contract/knowledge.ts';
import { presentCredential } from '#api/present/credentials.ts';
import { toPage } from '#api/present/page.ts';
import { createCredential } from '#domain/capabilities/credentials/create-credential.ts';
import { deleteCredential } from '#domain/capabilities/credentials/delete-credential.ts';
import { listCredentials, readCredential } from '#domain/capabilities/credentials/find-credential.ts';
import { updateCredential } from '#domain/capabilities/credentials/update-credential.ts';
import { markCreated } from '../created.ts';
import { idempotencyOf } from '../idempotency.ts';
import { audits } from './audits.ts';

const tags = ['Credentials'];
const all = '/admin/credentials';
const one = `${all}/:credential_id`;

/** Credentials of the whole tenant. */
export async function adminCredentialRoutes(instance: FastifyInstance): Promise<void> {
  const app = instance.withTypeProvider<ZodTypeProvider>();

  app.post(
    all,
    {
      config: { permission: 'credentials.manage', audit: audits.create },
      schema: {
        tags,
        operationId: 'createTenantCredential',
        summary: 'Store a credential of the whole tenant',
        description: 'The value is sealed immediately. No answer contains it, including this one.',
        headers: createHeaders,
        body: contract.createCredentialBody,
        response: { 200: contract.credentialEnvelope, 201: contract.credentialEnvelope, ...errorResponses },
      },
    },
    async (request, reply) => {
      const { headers, body } = request;
      const idempotency = idempotencyOf(headers['idempotency-key'], `/v1${all}`, body);
      const { credential, replayed } = await request.inContext(null, (ctx) =>
        createCredential(ctx, { ...body, idempotency }),
      );
      markCreated(reply, replayed);
      return { data: presentCredential(credential) };
    },
  );

  app.get(
    all,
    {
      config: { permission: 'credentials.read', audit: audits.reads },
      schema: {
        tags,
        operationId: 'listTenantCredentials',
        summary: 'List the credentials of the whole tenant, newest first',
        querystring: listQuery,
        response: { 200: contract.credentialPage, ...errorResponses },
      },
    },
    async (request) => {
      const { limit, cursor } = request.query;
      const page = await request.inContext(null, (ctx) =>
        listCredentials(ctx, { limit, cursor: cursor ?? null }),
      );
      return toPage({ ...page, items: page.items.map(presentCredential) });
    },
  );

  app.get(
    one,
    {
      config: { permission: 'credentials.read', audit: audits.reads },
      schema: {
        tags,
        operationId: 'getTenantCredential',
        summary: 'Read a credential of the whole tenant, without its value',
        params: contract.credentialParams,
        response: { 200: contract.credentialEnvelope, ...errorResponses },
      },
    },
    async (request) => {
      const { credential_id: credentialId } = request.params;
      const found = await request.inContext(null, (ctx) => readCredential(ctx, { credentialId }));
      return { data: presentCredential(found) };
    },
  );

  app.patch(
    one,
    {
      config: { permission: 'credentials.manage', audit: audits.update },
      schema: {
        tags,
        operationId: 'updateTenantCredential',
        summary: 'Rotate or rename a credential of the whole tenant',
        description: 'A value replaces the stored value; omitted fields stay unchanged.',
        params: contract.credentialParams,
        body: contract.updateCredentialBody,
        response: { 200: contract.credentialEnvelope, ...errorResponses },
      },
    },
    async (request) => {
      const { credential_id: credentialId } = request.params;
      const updated = await request.inContext(null, (ctx) =>
        updateCredential(ctx, { credentialId, ...request.body }),
      );
      return { data: presentCredential(updated) };
    },
  );

  app.delete(
    one,
    {
      config: { permission: 'credentials.manage', audit: audits.delete },
      schema: {
        tags,
        operationId: 'deleteTenantCredential',
        summary: 'Delete a credential of the whole tenant',
        description:
          'A credential that a tool server, a model or a connector uses is not deleted: 409 `credential_in_use`.',
        params: contract.credentialParams,
        response: { 200: deleted, ...errorResponses },
      },
    },
    async (request) => {
      const { credential_id: credentialId } = request.params;
      await request.inContext(null, (ctx) => deleteCredential(ctx, { credentialId }));
      return { data: { id: credentialId, deleted: true as const } };
    },
  );
}
