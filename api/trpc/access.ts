import {
  apiKeyEnvelope,
  apiKeyPage,
  mintedApiKey,
  principalEnvelope,
  principalPage,
} from '#api/contract/administration.ts';
import * as inputs from '#api/contract/procedures.ts';
import { presentApiKey, presentPrincipal } from '#api/present/administration.ts';
import { toPage } from '#api/present/page.ts';
import { issueApiKey } from '#domain/access/issue-api-key.ts';
import { listApiKeys } from '#domain/access/list-api-keys.ts';
import { withdrawApiKey } from '#domain/access/withdraw-api-key.ts';
import { createPrincipal } from '#domain/principals/create-principal.ts';
import { listPrincipals } from '#domain/principals/list-principals.ts';
import { procedure, reads, router } from './trpc.ts';

export const principals = router({
  list: procedure({ permission: 'principals.read', audit: reads })
    .input(inputs.listInput)
    .output(principalPage)
    .query(async ({ ctx: { request }, input: { limit, cursor } }) => {
      const page = await request.inContext(null, (ctx) =>
        listPrincipals(ctx, { limit, cursor: cursor ?? null }),
      );
      return toPage({ ...page, items: page.items.map(presentPrincipal) });
    }),

  create: procedure({ permission: 'principals.create', audit: ['security.principal_created'] })
    .input(inputs.createPrincipalInput)
    .output(principalEnvelope)
    .mutation(async ({ ctx: { request }, input: { type, name, email } }) => ({
      data: presentPrincipal(
        await request.inContext(null, (ctx) => createPrincipal(ctx, { type, name, email: email ?? null })),
      ),
    })),
});

export const apiKeys = router({
  list: procedure({ permission: 'api_keys.read', audit: reads })
    .input(inputs.listInput)
    .output(apiKeyPage)
    .query(async ({ ctx: { request }, input: { limit, cursor } }) => {
      const page = await request.inContext(null, (ctx) =>
        listApiKeys(ctx, { limit, cursor: cursor ?? null }),
      );
      return toPage({ ...page, items: page.items.map(presentApiKey) });
    }),

  create: procedure({ permission: 'api_keys.create', audit: ['security.api_key_created'] })
    .input(inputs.createApiKeyInput)
    .output(mintedApiKey)
    .mutation(async ({ ctx: { request }, input }) => {
      const { principal_id: principalId, name, permissions } = input;
      const { id, keyId, token } = await request.inContext(null, (ctx) =>
        issueApiKey(ctx, { principalId, name, permissions: permissions ?? null }),
      );
      return { data: { id, key_id: keyId, api_key: token } };
    }),

  revoke: procedure({ permission: 'api_keys.revoke', audit: ['security.api_key_revoked'] })
    .input(inputs.revokeApiKeyInput)
    .output(apiKeyEnvelope)
    .mutation(async ({ ctx: { request }, input: { key_id: keyId } }) => ({
      data: presentApiKey(await request.inContext(null, (ctx) => withdrawApiKey(ctx, { keyId }))),
    })),
});
