import { z } from 'zod';
import {
  connectionModes,
  serverErrors,
  serverStatuses,
  toolStates,
} from '#domain/capabilities/tools/server-status.ts';
import { slugPattern } from '#domain/capabilities/tools/tool-names.ts';
import { data, page, slug, spaceParams, timestamp, uuid } from './common.ts';

export const serverParams = spaceParams.extend({ server_id: uuid });

const iconUrl = z
  .url({ protocol: /^https$/ })
  .max(2_048)
  .nullable()
  .optional()
  .meta({ description: 'An https address; it is shown, never fetched by the server.' });

const credentialId = uuid
  .nullable()
  .optional()
  .meta({ description: 'A stored credential for the origin of url, instead of a variable; null: none.' });

const connectionSettings = {
  connection_mode: z.enum(connectionModes).optional().meta({
    description:
      'How calls are authorized with OAuth: with an account of each person, with one for the space, or not (none).',
  }),
  connection_resource: z.string().min(1).max(2_048).nullable().optional().meta({
    description:
      'Resource indicator to send instead of the one in the server’s metadata: an address of the server’s origin or, with the permission credentials.manage, the id of an application such as api://….',
  }),
  client_credential_id: uuid.nullable().optional().meta({
    description:
      'A stored credential of kind oauth2_client that is registered with the authorization server; null: the platform registers itself.',
  }),
};

const displayName = z.string().trim().min(1).max(200);
const toolName = z.string().min(1).max(256);
const requireApproval = z
  .boolean()
  .nullable()
  .optional()
  .meta({ description: 'Whether each call waits for consent; null: when the tool announces destruction.' });

export const registerServerBody = z.strictObject({
  slug: slug(slugPattern, 24, 'team-wiki').meta({
    description: 'Part of every tool name: mcp__<slug>__<tool>.',
  }),
  display_name: displayName,
  transport_type: z
    .string()
    .min(1)
    .max(32)
    .default('streamable_http')
    .meta({ description: 'streamable_http; anything else is refused.' }),
  url: z.string().min(1).max(2_048),
  icon_url: iconUrl,
  auth: z
    .strictObject({
      credential_ref: z
        .string()
        .regex(/^[A-Z][A-Z0-9_]{0,63}$/, 'must be the name of a variable in capitals, such as WIKI_TOKEN')
        .meta({ examples: ['WIKI_TOKEN'] }),
      header: z
        .string()
        .regex(
          /^(authorization|x-[a-z0-9-]{1,60})$/i,
          'must be Authorization, or begin with x-, such as X-Api-Key',
        )
        .meta({ examples: ['authorization'] })
        .optional(),
    })
    .nullable()
    .optional()
    .meta({
      description:
        'Names a variable that the operator has bound to the origin of url. Sent as a bearer token unless header names another.',
    }),
  credential_id: credentialId,
  ...connectionSettings,
});

export const updateServerBody = z.strictObject({
  enabled_tools: z
    .array(
      z.union([
        toolName,
        z.strictObject({
          name: toolName,
          schema_hash: z
            .string()
            .regex(/^[0-9a-f]{64}$/, 'must be 64 hexadecimal digits, such as the schema_hash of the tool')
            .optional()
            .meta({
              description: 'Of the definition that is approved, as discovered_tools shows it.',
              examples: ['0f'.repeat(32)],
            }),
          require_approval: requireApproval,
        }),
      ]),
    )
    .max(513)
    .optional()
    .meta({
      description:
        'Exactly these are enabled; ["*"] for all with future ones, [] for none. A definition is approved by its schema_hash.',
    }),
  tools: z
    .array(
      z.strictObject({
        name: toolName,
        repeatable: z.boolean().optional(),
        require_approval: requireApproval,
      }),
    )
    .max(512)
    .optional(),
  display_name: displayName.optional(),
  icon_url: iconUrl,
  credential_id: credentialId,
  ...connectionSettings,
  enabled: z.boolean().optional().meta({ description: 'false: no tool of the server is offered or called.' }),
});

const definition = {
  title: z.string().nullable(),
  description: z.string(),
  input_schema: z.record(z.string(), z.unknown()),
  output_schema: z.record(z.string(), z.unknown()).nullable(),
  annotations: z.record(z.string(), z.unknown()).nullable(),
};

const hiddenPlace = z.strictObject({
  where: z.string().meta({ description: 'A JSON pointer into the definition.' }),
  kind: z.string(),
  count: z.int(),
});

const discoveredTool = z.strictObject({
  name: z.string(),
  exposed_name: z.string(),
  ...definition,
  hidden_characters: z.array(hiddenPlace),
  schema_hash: z.string(),
  state: z.enum(toolStates),
  repeatable: z.boolean(),
  require_approval: z.boolean(),
  requires_task: z.boolean().meta({ description: 'It can be called as a task only, so it is not offered.' }),
  approved_definition: z
    .strictObject({ ...definition, schema_hash: z.string() })
    .nullable()
    .meta({ description: 'What was approved, where that is not what the server lists now.' }),
  difference: z
    .string()
    .nullable()
    .meta({ description: 'The approved definition against the present one, as a unified difference.' }),
  first_seen_at: timestamp,
  last_seen_at: timestamp,
});

export const serverRecord = z
  .strictObject({
    mcp_server_config_id: uuid,
    slug: z.string(),
    display_name: z.string(),
    transport_type: z.string(),
    status: z.enum(serverStatuses),
    icon_url: z.string().nullable(),
    enabled_tools: z.array(z.string()),
    tool_count: z.int(),
    tools_left_out: z.int().meta({ description: 'Of what the server lists: beyond 512, or of no use.' }),
    discovered_tools: z.array(discoveredTool),
    created_at: timestamp,
    space_id: uuid,
    url: z.string(),
    credential_ref: z.string().nullable(),
    credential_id: uuid.nullable(),
    connection_mode: z.enum(connectionModes),
    connection_resource: z.string().nullable(),
    client_credential_id: uuid.nullable(),
    last_error: z.enum(serverErrors).nullable(),
    last_checked_at: timestamp.nullable(),
    updated_at: timestamp,
  })
  .meta({ id: 'McpServer' });

export type ServerRecord = z.infer<typeof serverRecord>;

export const serverEnvelope = data(serverRecord);
export const serverPage = page(serverRecord);
