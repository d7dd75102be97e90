import { z } from 'zod';
import { permissions } from '#domain/foundation/access/permissions.ts';
import { continuations, inputModalities, providerKinds } from '#domain/capabilities/models/model-gateway.ts';
import { openAiTools } from '#domain/workspace/spaces/openai-tools.ts';
import { pendingStates } from '#domain/operations/workflows/workflow-reader.ts';
import { cost, data, page, timestamp, uuid } from './common.ts';
import { responseRecord } from './responses.ts';

/** Outputs of the procedures, beyond the records that they share with the routes. */

const count = z.int().min(0);

export const tenantRecord = z
  .strictObject({
    id: uuid,
    slug: z.string(),
    name: z.string(),
    status: z.string(),
    is_platform: z.boolean(),
    created_at: timestamp,
  })
  .meta({ id: 'Tenant' });
export const tenantEnvelope = data(tenantRecord);
export const tenantPage = page(tenantRecord);
/** All fields but the id are shown once: a repeated request returns the id alone. */
export const openedTenant = data(
  z.strictObject({
    tenant_id: uuid,
    principal_id: uuid.nullable(),
    space_id: uuid.nullable(),
    api_key: z.string().nullable(),
  }),
);

export const spaceRecord = z
  .strictObject({
    id: uuid,
    name: z.string(),
    default_model_id: uuid.nullable(),
    openai_tools: z.enum(openAiTools),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Space' });
export const spaceEnvelope = data(spaceRecord);
export const spacePage = page(spaceRecord);
export const spaceModels = data(
  z.strictObject({ models: z.array(z.string()), default_model: z.string().nullable() }),
);

export const memberRecord = z
  .strictObject({
    id: uuid,
    space_id: uuid,
    principal_id: uuid,
    role_id: uuid,
    role: z.string(),
    created_at: timestamp,
  })
  .meta({ id: 'Member' });
export const memberEnvelope = data(memberRecord);
export const memberPage = page(memberRecord);
export const memberRemoved = data(z.strictObject({ principal_id: uuid, removed: z.literal(true) }));

export const principalRecord = z
  .strictObject({
    id: uuid,
    type: z.enum(['user', 'service_account', 'agent']),
    name: z.string().nullable(),
    email: z.string().nullable(),
    status: z.string(),
    created_at: timestamp,
  })
  .meta({ id: 'Principal' });
export const principalEnvelope = data(principalRecord);
export const principalPage = page(principalRecord);

export const apiKeyRecord = z
  .strictObject({
    id: uuid,
    key_id: z.string(),
    principal_id: uuid,
    name: z.string(),
    permissions: z.array(z.enum(permissions)).nullable(),
    expires_at: timestamp,
    revoked_at: timestamp.nullable(),
    created_at: timestamp,
  })
  .meta({ id: 'ApiKey' });
export const apiKeyEnvelope = data(apiKeyRecord);
export const apiKeyPage = page(apiKeyRecord);
/** With the first key of a new tenant, the only output that contains a key; null when a request is repeated. */
export const mintedApiKey = data(
  z.strictObject({ id: uuid, key_id: z.string(), api_key: z.string().nullable() }),
);

const price = z.strictObject({ input: cost, cached_input: cost, output: cost });
export const modelRecord = z.strictObject({
  id: uuid,
  alias: z.string(),
  provider_kind: z.enum(providerKinds),
  provider_model: z.string(),
  base_url: z.string().nullable(),
  credential_ref: z.string().nullable(),
  credential_id: uuid.nullable(),
  continuation: z.enum(continuations),
  supports_reasoning: z.boolean(),
  input_modalities: z.array(z.enum(inputModalities)),
  context_window: count,
  max_output_tokens: count,
  created_at: timestamp,
  disabled_at: timestamp.nullable(),
});
export const modelEnvelope = data(modelRecord);
export const listedModelRecord = modelRecord.extend({ price_usd_per_million: price });
export const listedModelEnvelope = data(listedModelRecord);
export const modelPage = page(listedModelRecord);
export const priceRecord = z.strictObject({
  id: uuid,
  model_id: uuid,
  valid_from: timestamp,
  usd_per_million: price,
});
export const priceEnvelope = data(priceRecord);
export const priceList = z.strictObject({ data: z.array(priceRecord) });
export const priceImport = data(
  z.strictObject({
    imported: z.array(
      z.strictObject({ alias: z.string(), provider_model: z.string(), usd_per_million: price }),
    ),
    skipped: z.array(
      z.strictObject({
        alias: z.string(),
        provider_model: z.string(),
        reason: z.enum(['not_in_file', 'no_exact_price', 'unchanged']),
      }),
    ),
  }),
);

const attempt = z.strictObject({
  attempt: count,
  epoch: count,
  outcome: z.enum(['running', 'committed', 'vendor_failed', 'crashed', 'aborted']),
  failure_code: z.string().nullable(),
  continuation: z.string().nullable(),
  /** Characters of the open item that were published before the attempt began. */
  prefix_length: count,
  started_at: timestamp,
  ended_at: timestamp.nullable(),
});

/** One line of the ledger, without the call's arguments and result. */
const ledgerCall = z.strictObject({
  call_id: z.string(),
  tool: z.string(),
  status: z.enum(['planned', 'started', 'done']),
  outcome: z.enum(['succeeded', 'failed', 'denied', 'unknown']).nullable(),
  started_at: timestamp.nullable(),
  done_at: timestamp.nullable(),
});

const usageEntry = z.strictObject({
  attempt: count,
  kind: z.enum(['attempt', 'adjustment']),
  input_tokens: count,
  cached_input_tokens: count,
  output_tokens: count,
  reasoning_tokens: count,
  cost_usd: cost,
  settled: z.boolean(),
  estimated: z.boolean(),
});

export const inspectedResponse = data(
  z.strictObject({
    response: responseRecord,
    workflow_id: z.string(),
    principal_id: uuid,
    deadline_at: timestamp.nullable(),
    turns: z.array(
      z.strictObject({
        iteration: count,
        status: z.enum(['open', 'committed']),
        started_at: timestamp,
        committed_at: timestamp.nullable(),
        attempts: z.array(attempt),
        calls: z.array(ledgerCall),
        usage: z.array(usageEntry),
      }),
    ),
  }),
);

export const workflowRecord = data(
  z.strictObject({
    workflow_id: z.string(),
    tenant_id: uuid,
    resource: z.strictObject({
      type: z.enum(['response', 'document', 'mcp_server', 'connector', 'sync_run']),
      id: z.string(),
      status: z.string(),
      failure_code: z.string().nullable(),
    }),
    /** null: Temporal does not know the workflow, not yet or no longer. */
    run: z
      .strictObject({
        run_id: z.string(),
        type: z.string(),
        status: z.string(),
        task_queue: z.string(),
        started_at: timestamp,
        closed_at: timestamp.nullable(),
        history_events: count,
        pending: z.array(
          z.strictObject({
            activity: z.string(),
            state: z.enum(pendingStates),
            attempt: count,
            last_failure: z.string().nullable(),
            next_attempt_at: timestamp.nullable(),
          }),
        ),
      })
      .nullable(),
  }),
);

/** In the JSON form of Temporal's own tools; `next_cursor` leads to the next part of a history of more than 2 MiB. */
export const workflowHistory = data(
  z.strictObject({
    workflow_id: z.string(),
    history: z.looseObject({ events: z.array(z.unknown()) }),
    next_cursor: z.string().nullable(),
  }),
);
