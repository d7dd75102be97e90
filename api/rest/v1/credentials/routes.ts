import '#api/plugins/route-config.ts';
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from '@fastify/type-provider-zod';
import { deleted, errorResponses, spaceParams } from '#api/contract/common.ts';
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
const all = '/spaces/:space_id/credentials';
const one = `${all}/:credential_id`;

/** Credentials of a space. */
export async function credentialRoutes(instance: FastifyInstance): Promise<void> {
  const app = instance.withTypeProvider<ZodTypeProvider>();

  app.post(
    all,
    {
      config: { permission: 'credentials.manage', audit: audits.create },
      schema: {
        tags,
        operationId: 'createCredential',
        summary: 'Store a credential of a space',
        description: 'The value is sealed immediately. No answer contains it, including this one.',
        params: spaceParams,
        headers: createHeaders,
        body: contract.createCredentialBody,
        response: { 200: contract.credentialEnvelope, 201: contract.credentialEnvelope, ...errorResponses },
      },
    },
    async (request, reply) => {
      const { params, headers, body } = request;
      const path = `/v1/spaces/${params.space_id}/credentials`;
      const idempotency = idempotencyOf(headers['idempotency-key'], path, body);
      const { credential, replayed } = await request.inContext(params.space_id, (ctx) =>
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
        operationId: 'listCredentials',
        summary: 'List the credentials of a space, newest first',
        params: spaceParams,
        querystring: listQuery,
        response: { 200: contract.credentialPage, ...errorResponses },
      },
    },
    async (request) => {
      const { limit, cursor } = request.query;
      const page = await request.inContext(request.params.space_id, (ctx) =>
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
        operationId: 'getCredential',
        summary: 'Read a credential of a space, without its value',
        params: contract.spaceCredentialParams,
        response: { 200: contract.credentialEnvelope, ...errorResponses },
      },
    },
    async (request) => {
      const { space_id: spaceId, credential_id: credentialId } = request.params;
      const found = await request.inContext(spaceId, (ctx) => readCredential(ctx, { credentialId }));
      return { data: presentCredential(found) };
    },
  );

  app.patch(
    one,
    {
      config: { permission: 'credentials.manage', audit: audits.update },
      schema: {
        tags,
        operationId: 'updateCredential',
        summary: 'Rotate or rename a credential of a space',
        description: 'A value replaces the stored value; omitted fields stay unchanged.',
        params: contract.spaceCredentialParams,
        body: contract.updateCredentialBody,
        response: { 200: contract.credentialEnvelope, ...errorResponses },
      },
    },
    async (request) => {
      const { space_id: spaceId, credential_id: credentialId } = request.params;
      const updated = await request.inContext(spaceId, (ctx) =>
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
        operationId: 'deleteCredential',
        summary: 'Delete a credential of a space',
        description:
          'A credential that a tool server or a connector uses is not deleted: 409 `credential_in_use`.',
        params: contract.spaceCredentialParams,
        response: { 200: deleted, ...errorResponses },
      },
    },
    async (request) => {
      const { space_id: spaceId, credential_id: credentialId } = request.params;
      await request.inContext(spaceId, (ctx) => deleteCredential(ctx, { credentialId }));
      return { data: { id: credentialId, deleted: true as const } };
    },
  );
}
