import {
  apiKeyEnvelope,
  apiKeyPage,
  mintedApiKey,
  principalEnvelope,
  principalPage,
} from '#api/contract/administration.ts';
import { roleEnvelope, roleList } from '#api/contract/identity.ts';
import { deleted } from '#api/contract/common.ts';
import * as inputs from '#api/contract/procedures.ts';
import { presentIssued, presentRole } from '#api/present/identity.ts';
import { presentApiKey, presentPrincipal } from '#api/present/administration.ts';
import { toPage } from '#api/present/page.ts';
import { assignRole, unassignRole } from '#domain/identity/grants/assign-role.ts';
import { issueApiKey } from '#domain/identity/api-keys/issue-api-key.ts';
import { listApiKeys } from '#domain/identity/api-keys/list-api-keys.ts';
import { listAssignedRoles } from '#domain/identity/grants/list-assigned-roles.ts';
import { readApiKey } from '#domain/identity/api-keys/read-api-key.ts';
import { withdrawApiKey } from '#domain/identity/api-keys/withdraw-api-key.ts';
import { createPrincipal } from '#domain/identity/principals/create-principal.ts';
import { deletePrincipal } from '#domain/workspace/members/delete-principal.ts';
import { listPrincipals } from '#domain/identity/principals/list-principals.ts';
import { readPrincipal } from '#domain/identity/principals/read-principal.ts';
import { updatePrincipal } from '#domain/identity/grants/update-principal.ts';
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
    .mutation(async ({ ctx: { request }, input: { type, name, email } }) => {
      const { principal } = await request.inContext(null, (ctx) =>
        createPrincipal(ctx, { type, name: name ?? null, email: email ?? null }),
      );
      return { data: presentPrincipal(principal) };
    }),

  get: procedure({ permission: 'principals.read', audit: reads })
    .input(inputs.principalInput)
    .output(principalEnvelope)
    .query(async ({ ctx: { request }, input: { principal_id: principalId } }) => ({
      data: presentPrincipal(await request.inContext(null, (ctx) => readPrincipal(ctx, { principalId }))),
    })),

  update: procedure({ permission: 'principals.update', audit: ['security.principal_updated'] })
    .input(inputs.updatePrincipalInput)
    .output(principalEnvelope)
    .mutation(async ({ ctx: { request }, input: { principal_id: principalId, ...change } }) => ({
      data: presentPrincipal(
        await request.inContext(null, (ctx) => updatePrincipal(ctx, { principalId, ...change })),
      ),
    })),

  delete: procedure({
    permission: 'principals.delete',
    audit: [
      'security.principal_deleted',
      'space.invite_revoked',
      'space.invite_expired',
      'security.mcp_auth_revoked',
    ],
  })
    .input(inputs.principalInput)
    .output(deleted)
    .mutation(async ({ ctx: { request }, input: { principal_id: principalId } }) => {
      await request.inContext(null, (ctx) => deletePrincipal(ctx, { principalId }));
      return { data: { id: principalId, deleted: true as const } };
    }),

  roles: procedure({ permission: 'roles.read', audit: reads })
    .input(inputs.principalInput)
    .output(roleList)
    .query(async ({ ctx: { request }, input: { principal_id: principalId } }) => {
      const roles = await request.inContext(null, (ctx) => listAssignedRoles(ctx, { principalId }));
      return { data: roles.map(presentRole) };
    }),

  assignRole: procedure({ permission: 'roles.assign', audit: ['security.role_assigned'] })
    .input(inputs.assignmentInput)
    .output(roleEnvelope)
    .mutation(async ({ ctx: { request }, input: { principal_id: principalId, role_id: roleId } }) => ({
      data: presentRole(await request.inContext(null, (ctx) => assignRole(ctx, { principalId, roleId }))),
    })),

  unassignRole: procedure({ permission: 'roles.assign', audit: ['security.role_unassigned'] })
    .input(inputs.assignmentInput)
    .output(deleted)
    .mutation(async ({ ctx: { request }, input: { principal_id: principalId, role_id: roleId } }) => {
      await request.inContext(null, (ctx) => unassignRole(ctx, { principalId, roleId }));
      return { data: { id: roleId, deleted: true as const } };
    }),
});

export const apiKeys = router({
  list: procedure({ permission: 'api_keys.read', own: 'the caller’s own keys', audit: reads })
    .input(inputs.listInput)
    .output(apiKeyPage)
    .query(async ({ ctx: { request }, input: { limit, cursor } }) => {
      const page = await request.inContext(null, (ctx) =>
        listApiKeys(ctx, { limit, cursor: cursor ?? null }),
      );
      return toPage({ ...page, items: page.items.map(presentApiKey) });
    }),

  get: procedure({ permission: 'api_keys.read', own: 'the caller’s own keys', audit: reads })
    .input(inputs.apiKeyInput)
    .output(apiKeyEnvelope)
    .query(async ({ ctx: { request }, input: { key_id: keyId } }) => ({
      data: presentApiKey(await request.inContext(null, (ctx) => readApiKey(ctx, { keyId }))),
    })),

  create: procedure({
    permission: 'api_keys.create',
    own: 'the caller’s own keys',
    audit: ['security.api_key_created'],
  })
    .input(inputs.createApiKeyInput)
    .output(mintedApiKey)
    .mutation(async ({ ctx: { request }, input }) => {
      const { principal_id: principalId, name, permissions } = input;
      const issued = await request.inContext(null, (ctx) =>
        issueApiKey(ctx, {
          principalId: principalId ?? request.identity.principalId,
          name,
          permissions: permissions ?? null,
        }),
      );
      return { data: presentIssued(issued) };
    }),

  revoke: procedure({
    permission: 'api_keys.revoke',
    own: 'the caller’s own keys',
    audit: ['security.api_key_revoked'],
  })
    .input(inputs.apiKeyInput)
    .output(apiKeyEnvelope)
    .mutation(async ({ ctx: { request }, input: { key_id: keyId } }) => ({
      data: presentApiKey(await request.inContext(null, (ctx) => withdrawApiKey(ctx, { keyId }))),
    })),
});
