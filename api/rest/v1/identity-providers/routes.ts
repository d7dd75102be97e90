import '#api/plugins/route-config.ts';
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from '@fastify/type-provider-zod';
import { createHeaders, listQuery } from '#api/contract/knowledge.ts';
import { errorResponses } from '#api/contract/common.ts';
import * as contract from '#api/contract/identity-providers.ts';
import { presentProvider } from '#api/present/identity-providers.ts';
import { toPage } from '#api/present/page.ts';
import { registerProvider } from '#domain/identity/identity-providers/add-provider.ts';
import { linkIdentity } from '#domain/identity/identity-providers/link-identity.ts';
import { listProviders, readProvider } from '#domain/identity/identity-providers/read-providers.ts';
import { updateProvider } from '#domain/identity/identity-providers/update-provider.ts';
import { markCreated } from '../created.ts';
import { idempotencyOf } from '../idempotency.ts';
import { toChanges, toNewProvider } from './settings.ts';

const tags = ['Identity providers'];
const reads = { none: 'reads' };
const all = '/admin/identity-providers';
const one = `${all}/:identity_provider_id`;
const manages = {
  permission: 'identity_providers.manage',
  audit: ['security.identity_provider_changed'],
} as const;

export async function identityProviderRoutes(instance: FastifyInstance): Promise<void> {
  const app = instance.withTypeProvider<ZodTypeProvider>();

  app.post(
    all,
    {
      config: manages,
      schema: {
        tags,
        operationId: 'createIdentityProvider',
        summary: 'Configure an identity provider for the tenant’s users',
        headers: createHeaders,
        body: contract.createProviderBody,
        response: { 200: contract.providerEnvelope, 201: contract.providerEnvelope, ...errorResponses },
      },
    },
    async (request, reply) => {
      const { headers, body } = request;
      const idempotency = idempotencyOf(headers['idempotency-key'], `/v1${all}`, body);
      const { provider, replayed } = await request.inContext(null, (ctx) =>
        registerProvider(ctx, { ...toNewProvider(body), idempotency }),
      );
      markCreated(reply, replayed);
      return { data: presentProvider(provider) };
    },
  );

  app.get(
    all,
    {
      config: { permission: 'identity_providers.read', audit: reads },
      schema: {
        tags,
        operationId: 'listIdentityProviders',
        summary: 'List the tenant’s identity providers, newest first',
        querystring: listQuery,
        response: { 200: contract.providerPage, ...errorResponses },
      },
    },
    async (request) => {
      const { limit, cursor } = request.query;
      const page = await request.inContext(null, (ctx) =>
        listProviders(ctx, { limit, cursor: cursor ?? null }),
      );
      return toPage({ ...page, items: page.items.map(presentProvider) });
    },
  );

  app.get(
    one,
    {
      config: { permission: 'identity_providers.read', audit: reads },
      schema: {
        tags,
        operationId: 'getIdentityProvider',
        summary: 'Read an identity provider',
        params: contract.providerParams,
        response: { 200: contract.providerEnvelope, ...errorResponses },
      },
    },
    async (request) => {
      const { identity_provider_id: providerId } = request.params;
      return {
        data: presentProvider(await request.inContext(null, (ctx) => readProvider(ctx, { providerId }))),
      };
    },
  );

  app.patch(
    one,
    {
      config: manages,
      schema: {
        tags,
        operationId: 'updateIdentityProvider',
        summary: 'Change an identity provider, or disable it',
        description:
          'Disabling it refuses new sign-ins and ends its sessions; changing client_id also ends them, and unlinks every identity. Unless only display_name or the status disabled is sent, the caller confirms the provider, also with the values that it has.',
        params: contract.providerParams,
        body: contract.updateProviderBody,
        response: { 200: contract.providerEnvelope, ...errorResponses },
      },
    },
    async (request) => {
      const { identity_provider_id: providerId } = request.params;
      const provider = await request.inContext(null, (ctx) =>
        updateProvider(ctx, { providerId, ...toChanges(request.body) }),
      );
      return { data: presentProvider(provider) };
    },
  );

  app.post(
    `${one}/identities`,
    {
      config: manages,
      schema: {
        tags,
        operationId: 'linkIdentity',
        summary: 'Link a subject of the provider to a user',
        params: contract.providerParams,
        body: contract.linkIdentityBody,
        response: { 200: contract.identityEnvelope, ...errorResponses },
      },
    },
    async (request) => {
      const { principal_id: principalId, subject } = request.body;
      const { identity_provider_id: providerId } = request.params;
      await request.inContext(null, (ctx) => linkIdentity(ctx, { providerId, principalId, subject }));
      return { data: { identity_provider_id: providerId, principal_id: principalId, subject } };
    },
  );
}
