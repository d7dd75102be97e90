import { z } from 'zod';
import {
  provisionings,
  providerSlug,
  signingAlgs,
} from '#domain/identity/identity-providers/provider-settings.ts';
import { data, page, slug, timestamp, uuid } from './common.ts';

export const providerParams = z.strictObject({ identity_provider_id: uuid });

const url = z.string().min(1).max(2_048);
const settings = {
  display_name: z.string().trim().min(1).max(200),
  client_id: z.string().min(1).max(255),
  client_secret: z.string().min(1).max(1_000).nullable().meta({
    description: 'Written, never read; null for a public client.',
  }),
  signing_alg: z.enum(signingAlgs),
  extra_audiences: z.array(z.string().min(1).max(255)).max(20).meta({
    description: 'Audiences that an ID token may name beside client_id.',
  }),
  redirect_uris: z.array(url).max(50).meta({
    description:
      'Where a finished sign-in may lead, compared character by character. The first is the default.',
  }),
  provisioning: z.enum(provisionings).meta({
    description:
      'automatic: each subject that signs in becomes a user with the role member. known: only linked identities.',
  }),
  strict_rotation: z.boolean().meta({
    description: 'Whether a refresh token is retired by its own use instead of by that of its successor.',
  }),
};

export const createProviderBody = z.strictObject({
  slug: slug(providerSlug, 63, 'company-login'),
  issuer: url.meta({ description: 'Exactly as its ID tokens say it.' }),
  display_name: settings.display_name,
  client_id: settings.client_id,
  client_secret: settings.client_secret.optional(),
  signing_alg: settings.signing_alg.default('RS256'),
  extra_audiences: settings.extra_audiences.default([]),
  redirect_uris: settings.redirect_uris.default([]),
  provisioning: settings.provisioning.default('known'),
  strict_rotation: settings.strict_rotation.default(false),
});

export const updateProviderBody = z
  .strictObject({ ...settings, status: z.enum(['active', 'disabled']) })
  .partial();

export const linkIdentityBody = z.strictObject({
  principal_id: uuid,
  subject: z.string().min(1).max(255).meta({ description: 'The claim sub of the person’s ID tokens.' }),
});

export const providerRecord = z
  .strictObject({
    id: uuid,
    slug: z.string(),
    display_name: z.string(),
    issuer: z.string(),
    client_id: z.string(),
    has_client_secret: z.boolean(),
    signing_alg: z.enum(signingAlgs),
    extra_audiences: z.array(z.string()),
    redirect_uris: z.array(z.string()),
    provisioning: z.enum(provisionings),
    strict_rotation: z.boolean(),
    status: z.enum(['active', 'disabled']),
    confirmed_by: uuid.nullable().meta({
      description:
        'The principal that confirmed the settings last; null: the operator of the platform, or an earlier version of it.',
    }),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'IdentityProvider' });

export type ProviderRecord = z.infer<typeof providerRecord>;

export const providerEnvelope = data(providerRecord);
export const providerPage = page(providerRecord);
export const identityEnvelope = data(
  z.strictObject({ identity_provider_id: uuid, principal_id: uuid, subject: z.string() }),
);
