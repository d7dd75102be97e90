import { z } from 'zod';
import { credentialKinds } from '#domain/capabilities/credentials/credential-value.ts';
import { connectorStatuses } from '#domain/knowledge/connectors/connector-status.ts';
import { maxMinutes, minMinutes } from '#domain/knowledge/connectors/sync-schedule.ts';
import {
  sourceDocumentStates,
  syncErrorCodes,
  syncModes,
  syncStatuses,
  syncTriggers,
} from '#domain/knowledge/connectors/sync-status.ts';
import { data, page, pageQuery, range, timestamp, uuid } from './common.ts';
import { collectionParams } from './knowledge.ts';

export const connectorParams = collectionParams.extend({ connector_id: uuid });
export const syncParams = connectorParams.extend({ sync_id: uuid });

/** For people who have sent another one. */
const scheduleForms =
  'null, {"type":"manual"}, {"type":"interval","minutes":60} or {"type":"cron","expression":"0 6 * * 1-5","timezone":"Europe/Berlin"}';

const schedule = z.union(
  [
    z.strictObject({ type: z.literal('interval'), minutes: range(z.int(), minMinutes, maxMinutes) }),
    z.strictObject({
      type: z.literal('cron'),
      expression: z.string().min(1).max(100).meta({ description: 'Five fields.' }),
      timezone: z.string().min(1).max(64).meta({ description: 'Of IANA, such as Europe/Berlin.' }),
    }),
    z.strictObject({ type: z.literal('manual') }),
  ],
  { error: `must be ${scheduleForms}` },
);

const scopeConfig = z.record(z.string(), z.unknown()).meta({
  description: 'As the `scope_schema` of the provider says. Never holds a secret.',
});

const clientCredential = uuid.nullable().optional().meta({
  description:
    'A credential of kind `oauth2_client` for the origin of the source: an account is connected by the popup, in place of credential_id.',
});

export const createConnectorBody = z.strictObject({
  provider_slug: z.string().min(1).max(64),
  scope_config: scopeConfig,
  credential_id: uuid.nullable().optional(),
  client_credential_id: clientCredential,
  sync_schedule: schedule
    .nullable()
    .optional()
    .meta({ description: 'null or left out: it runs once, and then on request.' }),
});

export const updateConnectorBody = z.strictObject({
  status: z.enum(['active', 'paused']).optional(),
  scope_config: scopeConfig.optional(),
  credential_id: uuid.nullable().optional(),
  client_credential_id: clientCredential,
  sync_schedule: schedule.nullable().optional(),
});

export type CreateConnectorBody = z.infer<typeof createConnectorBody>;
export type UpdateConnectorBody = z.infer<typeof updateConnectorBody>;

export const listConnectorsQuery = z.strictObject({
  ...pageQuery,
  status: z.enum(connectorStatuses).optional(),
});

export const listSourceDocumentsQuery = z.strictObject({
  ...pageQuery,
  state: z.enum(sourceDocumentStates).optional(),
});

export const deleteConnectorQuery = z.strictObject({
  retain_documents: z
    .enum(['true', 'false'])
    .optional()
    .meta({ description: 'true: its documents stay as documents of the collection.' }),
});

export const requestSyncBody = z.strictObject({
  mode: z.enum(syncModes).default('incremental').meta({
    description: '`full` compares the content of every document; incremental when left out.',
  }),
  confirm_deletions: z
    .boolean()
    .default(false)
    .meta({ description: 'Applies deletions that the run before has held back.' }),
});

export const connectorRecord = z
  .strictObject({
    id: uuid,
    collection_id: uuid,
    provider_slug: z.string(),
    principal_id: uuid.meta({ description: 'For whom it acts: its creator.' }),
    credential_id: uuid.nullable(),
    client_credential_id: uuid.nullable().meta({
      description: 'null: it is read without a connection.',
    }),
    scope_config: z.unknown(),
    status: z.enum(connectorStatuses),
    status_reason: z
      .enum(syncErrorCodes)
      .nullable()
      .meta({ description: 'Why it is `auth_required` or in `error`.' }),
    sync_schedule: schedule.nullable(),
    next_runs: z.array(timestamp).meta({
      description: 'The next five times of the schedule; empty while it begins no runs.',
    }),
    last_synced_at: timestamp.nullable(),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Connector' });

const count = z.int();

export const syncRunRecord = z
  .strictObject({
    id: uuid,
    collection_connector_id: uuid,
    status: z.enum(syncStatuses),
    started_at: timestamp.nullable(),
    completed_at: timestamp.nullable(),
    records_fetched: count.meta({ description: 'Documents seen at the source.' }),
    error_message: z.string().nullable().meta({ description: '`<code>: <sentence>`.' }),
    metadata: z.strictObject({
      trigger: z.enum(syncTriggers),
      mode: z.enum(syncModes),
      added: count,
      updated: count,
      unchanged: count,
      skipped: count,
      failed: count,
      deleted: count,
      deletes_held: count.meta({ description: 'Deletions that wait for `confirm_deletions`.' }),
      total: count.nullable().meta({ description: 'Documents of the listing, where the source tells.' }),
      remaining: count.nullable(),
      rate: z.number().nullable().meta({ description: 'Documents per second.' }),
      bytes: count,
      cursor_from: z.string().nullable(),
      cursor_to: z.string().nullable(),
      rate_limited_ms: count,
      attempts: count,
      errors: z.array(
        z.strictObject({
          ref: z.string().nullable().meta({
            description:
              'null where the collection enforces the readers of its sources, unless the caller may change connectors.',
          }),
          code: z.string(),
          message: z.string(),
        }),
      ),
      workflow_id: z.string().nullable(),
    }),
    created_at: timestamp,
  })
  .meta({ id: 'ConnectorSyncRun' });

export const sourceDocumentRecord = z
  .strictObject({
    id: uuid,
    document_id: uuid.nullable().meta({ description: 'null: nothing of it is stored.' }),
    ref: z.string().meta({ description: 'Its identity at the source.' }),
    name: z.string(),
    url: z.string().nullable(),
    byte_size: count.nullable(),
    state: z.enum(sourceDocumentStates),
    error_code: z.string().nullable().meta({ description: 'Why it is `skipped` or `failed`.' }),
    version: z.string().nullable().meta({
      description:
        'At the source, such as an ETag, as last seen; null: unknown, or the next run fetches it again.',
    }),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'SourceDocument' });

export const connectorProviderRecord = z
  .strictObject({
    slug: z.string(),
    title: z.string(),
    description: z.string(),
    beta: z.boolean().meta({ description: 'Tested against the published protocol only.' }),
    scope_schema: z.record(z.string(), z.unknown()).meta({ description: 'JSON Schema of `scope_config`.' }),
    credential_kinds: z.array(z.enum(credentialKinds)),
    credential_required: z.boolean(),
    connects: z
      .boolean()
      .meta({ description: 'Whether an account can be connected by the popup in place of a credential.' }),
    detects: z.strictObject({
      changes: z.enum(['listing', 'request']),
      deletions: z.enum(['source', 'listing', 'never']),
      readers: z.boolean(),
      push: z.boolean().meta({
        description:
          'Whether a change that the source reports begins a run, without waiting for the schedule.',
      }),
    }),
  })
  .meta({ id: 'ConnectorProvider' });

export const connectorEnvelope = data(connectorRecord);
export const connectorPage = page(connectorRecord);
export const syncRunEnvelope = data(syncRunRecord);
export const syncRunPage = page(syncRunRecord);
export const sourceDocumentPage = page(sourceDocumentRecord);
export const connectorProviderPage = page(connectorProviderRecord);
export const checkEnvelope = data(
  z.strictObject({
    ok: z.boolean(),
    code: z.enum(syncErrorCodes).nullable(),
    message: z.string().nullable(),
  }),
);
