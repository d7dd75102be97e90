import { z } from 'zod';
import { connectionStatuses } from '#domain/capabilities/connections/connection-status.ts';
import { data, page, timestamp, uuid } from './common.ts';

export const initiateParams = z.strictObject({ server_id: uuid });

export const initiateQuery = z.strictObject({
  register_again: z.enum(['true', 'false']).optional().meta({
    description:
      'true: the platform registers again at the authorization server, for a registration that its page no longer knows.',
  }),
  redirect_uri: z.string().min(1).max(2_048).meta({
    description:
      'Where the popup ends; exactly one of the platform’s list, or its own page …/v1/mcp-auth/done.',
  }),
});

export const initiateSourceQuery = initiateQuery.pick({ redirect_uri: true });

export const initiated = data(
  z.strictObject({
    popup_url: z.string().meta({ description: 'For a window of the browser; good once, for ten minutes.' }),
    expires_at: timestamp,
  }),
);

export const completeBody = z.strictObject({
  handle: z
    .string()
    .regex(/^mh\.[\w-]{43}$/, 'must be the handle that the popup gave, such as mh.… with 43 characters')
    .meta({
      description: 'Of the address at which the popup ended; good once, for a minute.',
      examples: [`mh.${'x'.repeat(43)}`],
    }),
});

const secret = z.string().min(1).max(200);

export const startQuery = z.strictObject({ nonce: secret });

/** The form of the popup's page. */
export const startForm = z.strictObject({
  nonce: secret,
  csrf: secret,
  decision: z.enum(['continue', 'cancel']),
});

/** Of `issuerKey`. */
export const issuerParams = z.strictObject({
  issuer: z
    .string()
    .regex(/^[\w-]{22}$/, 'must be 22 characters, such as in the addresses that the platform gives'),
});

const short = z.string().max(4_096).optional();

/** Not strict: authorization servers add members, which OAuth requires clients to ignore. */
export const callbackQuery = z.object({
  code: short,
  state: short,
  iss: short.meta({ description: 'Who answers (RFC 9207).' }),
  error: short,
  error_description: short,
  error_uri: short,
});

export const doneQuery = z.strictObject({
  handle: short,
  error: short,
  server_id: short,
  connector_id: short,
});

export const connectQuery = z.strictObject({
  server_id: uuid,
  elicitation_id: z.string().max(200).optional(),
});

export const finishedPopup = z.strictObject({ redirect_url: z.string() });

export const popupPage = z.string();

export const clientDocument = z.strictObject({
  client_id: z.string(),
  client_name: z.string(),
  client_uri: z.string(),
  application_type: z.literal('web'),
  redirect_uris: z.array(z.string()),
  grant_types: z.array(z.string()),
  response_types: z.array(z.string()),
  token_endpoint_auth_method: z.literal('none'),
});

export const connectionRecord = z
  .strictObject({
    server_id: uuid.nullable().meta({ description: 'null: it is of a connector.' }),
    connector_id: uuid.nullable(),
    owner: z.enum(['personal', 'shared']),
    status: z.enum(connectionStatuses),
    issuer: z.string().nullable().meta({ description: 'The authorization server.' }),
    granted_scopes: z.array(z.string()),
    required_scopes: z.array(z.string()).meta({
      description: 'Of a call that was refused for lack of them; the next connection asks for them.',
    }),
    expires_at: timestamp
      .nullable()
      .meta({ description: 'Of the present token, which is refreshed before.' }),
    connected_at: timestamp.nullable(),
  })
  .meta({ id: 'Connection' });

export type ConnectionRecord = z.infer<typeof connectionRecord>;
export const connectionEnvelope = data(connectionRecord);

/** Who is connected, never with what. */
export const connectedRecord = z
  .strictObject({
    principal_id: uuid.nullable().meta({ description: 'null: the space’s shared connection.' }),
    connected_by: uuid,
    connected_by_is_member: z.boolean().meta({
      description:
        'Whether that principal is active and a member of the space: a shared connection outlives it.',
    }),
    status: z.enum(connectionStatuses),
    connected_at: timestamp,
  })
  .meta({ id: 'ConnectedPrincipal' });

export type ConnectedRecord = z.infer<typeof connectedRecord>;
export const connectedPage = page(connectedRecord);
