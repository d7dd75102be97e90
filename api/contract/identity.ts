import { z } from 'zod';
import { permissions } from '#domain/foundation/access/permissions.ts';
import { data, idempotencyKey, page, pageQuery, slug, timestamp, uuid } from './common.ts';

/** Roles, principals, keys and tenants: inputs of their routes and procedures, and the records of roles. */

export const name = z.string().trim().min(1).max(200);
export const description = z.string().max(2_000).nullable();
const address = z
  .email()
  .max(320)
  .meta({ examples: ['ada@example.com'] });
const permissionNames = z.array(z.enum(permissions)).max(permissions.length);

export const listQuery = z.strictObject(pageQuery);
export const createHeaders = z.looseObject({ 'idempotency-key': idempotencyKey.optional() });

export const roleParams = z.strictObject({ role_id: uuid });
export const principalParams = z.strictObject({ principal_id: uuid });
export const assignmentParams = principalParams.extend({ role_id: uuid });
export const apiKeyParams = z.strictObject({ api_key_id: uuid });
export const tenantParams = z.strictObject({ tenant_id: uuid });

export const createRoleBody = z.strictObject({
  key: z
    .string()
    .regex(
      /^[a-z][a-z0-9_]{1,62}$/,
      'must be 2 to 63 of a-z, 0-9, _, a letter first, such as content_reviewer',
    )
    .meta({
      description: 'Unique in the tenant; the keys of built-in roles are taken.',
      examples: ['content_reviewer'],
    }),
  name,
  description: description.optional(),
});
export const updateRoleBody = z.strictObject({ name: name.optional(), description: description.optional() });
export const setPermissionsBody = z.strictObject({ permissions: permissionNames });

export const createPrincipalBody = z.strictObject({
  type: z.enum(['user', 'service_account', 'agent']),
  email: address.nullish(),
  name: name.nullish(),
});
export const updatePrincipalBody = z.strictObject({
  name: name.optional(),
  status: z.enum(['active', 'disabled']).optional(),
});

export const createApiKeyBody = z.strictObject({
  principal_id: uuid.optional().meta({ description: 'One’s own principal when left out.' }),
  name,
  permissions: permissionNames.min(1).nullish().meta({
    description: 'What the key may do at most; everything that its principal may when left out.',
  }),
});

export const createTenantBody = z.strictObject({
  slug: slug(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, 63, 'example-org'),
  name,
});
export const updateTenantBody = z.strictObject({ name });

export const roleRecord = z
  .strictObject({
    id: uuid,
    key: z.string(),
    name: z.string(),
    description: z.string().nullable(),
    permissions: z.array(z.enum(permissions)),
    built_in: z.boolean(),
    scope: z.enum(['tenant', 'space', 'project']).nullable().meta({
      description: 'Where a built-in role can be given; null: anywhere.',
    }),
    created_at: timestamp.nullable(),
  })
  .meta({ id: 'Role' });
export const roleEnvelope = data(roleRecord);
export const rolePage = page(roleRecord);
export const roleList = z.strictObject({ data: z.array(roleRecord) });
