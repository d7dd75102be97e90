import { z } from 'zod';
import { data, idempotencyKey, timestamp, uuid } from './common.ts';

const providerId = z
  .string()
  .regex(/^[A-Za-z0-9-]{1,64}$/, 'must be the id or the slug of an identity provider, such as company-login')
  .toLowerCase()
  .meta({ description: 'Id or slug of the identity provider.', examples: ['company-login'] });

export const loginParams = z.strictObject({ provider_id: providerId });
export const callbackParams = z.strictObject({
  provider_id: providerId.meta({
    description:
      'Id of the identity provider. Its slug is refused: providers of several tenants may have it.',
    examples: ['01900000-0000-7000-8000-000000000001'],
  }),
});

const redirectUri = z.string().min(1).max(2_048);

export const startQuery = z.strictObject({
  frontend_redirect_uri: redirectUri.optional().meta({
    description:
      'Where the finished sign-in leads; exactly one of the provider’s list. Its first when not given.',
  }),
  tenant: z
    .string()
    .regex(/^[A-Za-z0-9-]{1,64}$/, 'must be the id or the slug of a tenant, such as acme')
    .toLowerCase()
    .optional()
    .meta({
      description:
        'Id or slug of the provider’s tenant, for browsers, which send no header: needed where several tenants have a provider of one slug. Taken before X-Tenant-Id.',
      examples: ['acme'],
    }),
});

export const startHeaders = z.object({
  'x-tenant-id': uuid
    .optional()
    .meta({ description: 'Whose provider; needed where several tenants have one of this slug.' }),
});

export const startedLogin = data(z.strictObject({ redirect_url: z.string() }));

const short = z.string().max(4_096).optional();

/** Not strict: providers add members, which OpenID Connect requires clients to ignore. */
export const callbackQuery = z.object({
  code: short,
  state: short,
  iss: short.meta({ description: 'Who answers (RFC 9207).' }),
  error: short,
  error_description: short,
  error_subcode: short,
  frontend_redirect_uri: redirectUri
    .optional()
    .meta({ description: 'Absent, or equal to that of the start.' }),
});

export const finishedCallback = z.strictObject({ redirect_url: z.string() });

const idToken = z.string().min(1).max(16_384);

export const sessionBody = z
  .strictObject({
    provider_id: providerId.optional(),
    id_token: idToken.optional().meta({ description: 'With the nonce of the address that start gave.' }),
    handle: z.string().min(1).max(200).optional().meta({
      description: 'The session_id of the address that the callback gave; needs the cookie of the start.',
    }),
    access_token: z.string().min(1).max(16_384).optional().meta({
      description:
        'The provider’s; at_hash of the ID token must vouch for it. It is neither used nor stored.',
    }),
    expires_in: z.int().min(1).max(31_536_000).optional().meta({
      description: 'Seconds that the session may last at most.',
    }),
  })
  .refine(({ id_token, handle }) => (id_token === undefined) !== (handle === undefined), {
    message: 'must be given, or handle, but not both',
    path: ['id_token'],
  })
  .refine(({ id_token, provider_id }) => id_token === undefined || provider_id !== undefined, {
    message: 'must be given with id_token',
    path: ['provider_id'],
  })
  .refine(({ handle, access_token }) => handle === undefined || access_token === undefined, {
    message: 'must be given with id_token only',
    path: ['access_token'],
  });

export const sessionHeaders = z.object({ 'idempotency-key': idempotencyKey.optional() });

const tokenMembers = {
  access_token: z.string(),
  token_type: z.literal('bearer'),
  expires_in: z.int().meta({ description: 'Seconds.' }),
  refresh_token: z.string(),
  refresh_expires_in: z.int().meta({ description: 'Seconds, unless it is used before.' }),
};

export const openedSession = z
  .strictObject({ session_id: uuid, expires_at: timestamp, ...tokenMembers })
  .meta({ id: 'OpenedSession' });
export const refreshedTokens = z.strictObject(tokenMembers).meta({ id: 'RefreshedTokens' });
