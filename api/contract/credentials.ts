import { z } from 'zod';
import { credentialKinds, valueMembers } from '#domain/capabilities/credentials/credential-value.ts';
import { data, page, spaceParams, timestamp, uuid } from './common.ts';

const credentialId = { credential_id: uuid };

export const credentialParams = z.strictObject(credentialId);
export const spaceCredentialParams = spaceParams.extend(credentialId);

const member = z.string().min(1).max(8_192).optional();
const value = z
  .strictObject(
    Object.fromEntries(valueMembers.map((name) => [name, member])) as Record<
      (typeof valueMembers)[number],
      typeof member
    >,
  )
  .meta({
    description:
      'By kind: bearer `token`; header `name`, `value`; basic `username`, `password`; oauth2_client `client_id`, `client_secret` or `private_key` (PEM, PKCS #8), `token_url` or `issuer` and, if wanted, `scope`; access_key `access_key_id`, `secret_access_key` and, of a temporary key, `session_token`. Sealed at once and never shown again.',
  });

export const createCredentialBody = z.strictObject({
  name: z.string().min(1).max(200),
  kind: z.enum(credentialKinds),
  origin: z
    .string()
    .min(1)
    .max(500)
    .meta({ description: 'Scheme, host and port of the only place that it is sent to.' }),
  value,
});

export const updateCredentialBody = z.strictObject({
  name: z.string().min(1).max(200).optional(),
  value: value.optional(),
});

export const credentialRecord = z
  .strictObject({
    id: uuid,
    space_id: uuid.nullable().meta({ description: 'null: usable in every space of the tenant.' }),
    name: z.string(),
    kind: z.enum(credentialKinds),
    origin: z.string(),
    header: z.string().nullable().meta({ description: 'Of kind header: the one that carries the value.' }),
    has_value: z.literal(true),
    created_by: uuid,
    last_used_at: timestamp.nullable().meta({ description: 'To the minute.' }),
    rotated_at: timestamp.meta({ description: 'When the value was set.' }),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Credential' });

export const credentialEnvelope = data(credentialRecord);
export const credentialPage = page(credentialRecord);
