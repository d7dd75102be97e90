import '#api/plugins/route-config.ts';
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from '@fastify/type-provider-zod';
import * as contract from '#api/contract/identity.ts';
import { apiKeyEnvelope, apiKeyPage, mintedApiKey } from '#api/contract/administration.ts';
import { errorResponses } from '#api/contract/common.ts';
import { presentIssued } from '#api/present/identity.ts';
import { presentApiKey } from '#api/present/administration.ts';
import { toPage } from '#api/present/page.ts';
import { issueApiKey } from '#domain/identity/api-keys/issue-api-key.ts';
import { listApiKeys } from '#domain/identity/api-keys/list-api-keys.ts';
import { readApiKey } from '#domain/identity/api-keys/read-api-key.ts';
import { withdrawApiKey } from '#domain/identity/api-keys/withdraw-api-key.ts';
import { markCreated } from '../created.ts';
import { idempotencyOf } from '../idempotency.ts';

const tags = ['API keys'];
const reads = { none: 'reads' };

export async function apiKeyRoutes(instance: FastifyInstance): Promise<void> {
  const app = instance.withTypeProvider<ZodTypeProvider>();

  app.post(
    '/admin/api-keys',
    {
      config: {
        permission: 'api_keys.create',
        own: 'the caller’s own keys',
        audit: ['security.api_key_created'],
      },
      schema: {
        tags,
        operationId: 'createApiKey',
        summary: 'Create an API key, which is shown once',
        headers: contract.createHeaders,
        body: contract.createApiKeyBody,
        response: { 200: mintedApiKey, 201: mintedApiKey, ...errorResponses },
      },
    },
    async (request, reply) => {
      const { headers, body, identity } = request;
      const issued = await request.inContext(null, (ctx) =>
        issueApiKey(ctx, {
          principalId: body.principal_id ?? identity.principalId,
          name: body.name,
          permissions: body.permissions ?? null,
          idempotency: idempotencyOf(headers['idempotency-key'], '/v1/admin/api-keys', body),
        }),
      );
      markCreated(reply, issued.token === null);
      return { data: presentIssued(issued) };
    },
  );

  app.get(
    '/admin/api-keys',
    {
      config: { permission: 'api_keys.read', own: 'the caller’s own keys', audit: reads },
      schema: {
        tags,
        operationId: 'listApiKeys',
        summary: 'List API keys without their secrets, newest first',
        querystring: contract.listQuery,
        response: { 200: apiKeyPage, ...errorResponses },
      },
    },
    async (request) => {
      const { limit, cursor } = request.query;
      const page = await request.inContext(null, (ctx) =>
        listApiKeys(ctx, { limit, cursor: cursor ?? null }),
      );
      return toPage({ ...page, items: page.items.map(presentApiKey) });
    },
  );

  app.get(
    '/admin/api-keys/:api_key_id',
    {
      config: { permission: 'api_keys.read', own: 'the caller’s own keys', audit: reads },
      schema: {
        tags,
        operationId: 'getApiKey',
        summary: 'Read an API key without its secret',
        params: contract.apiKeyParams,
        response: { 200: apiKeyEnvelope, ...errorResponses },
      },
    },
    async (request) => {
      const { api_key_id: id } = request.params;
      return { data: presentApiKey(await request.inContext(null, (ctx) => readApiKey(ctx, { id }))) };
    },
  );

  app.delete(
    '/admin/api-keys/:api_key_id',
    {
      config: {
        permission: 'api_keys.revoke',
        own: 'the caller’s own keys',
        audit: ['security.api_key_revoked'],
      },
      schema: {
        tags,
        operationId: 'revokeApiKey',
        summary: 'Revoke an API key, effective from the next request',
        params: contract.apiKeyParams,
        response: { 200: apiKeyEnvelope, ...errorResponses },
      },
    },
    async (request) => {
      const { api_key_id: id } = request.params;
      return { data: presentApiKey(await request.inContext(null, (ctx) => withdrawApiKey(ctx, { id }))) };
    },
  );
}
