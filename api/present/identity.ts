import type { z } from 'zod';
import type { roleRecord } from '#api/contract/identity.ts';
import type { RoleView } from '#domain/identity/roles/role-view.ts';
import type { OpenedTenant } from '#domain/workspace/tenants/open-tenant.ts';
import type { IssuedApiKey } from '#domain/identity/api-keys/issue-api-key.ts';

export function presentRole(role: RoleView): z.infer<typeof roleRecord> {
  return {
    id: role.id,
    key: role.key,
    name: role.name,
    description: role.description,
    permissions: [...role.permissions],
    built_in: role.builtIn,
    scope: role.scope,
    created_at: role.createdAt?.toISOString() ?? null,
  };
}

/** The only answer with the secret; without it when a request is repeated. */
export function presentIssued({ id, keyId, token }: IssuedApiKey) {
  return { id, key_id: keyId, api_key: token };
}

/** Values that are shown once, or the id alone when a request is repeated. */
export function presentOpened(opened: OpenedTenant | { tenantId: string }) {
  const { principalId, spaceId, token } = { principalId: null, spaceId: null, token: null, ...opened };
  return { tenant_id: opened.tenantId, principal_id: principalId, space_id: spaceId, api_key: token };
}
