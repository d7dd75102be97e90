import { z } from 'zod';
import { responseStatuses } from '#domain/responses/record/response-status.ts';
import {
  cost,
  data,
  functionName,
  idempotencyKey,
  page,
  pageQuery,
  pageSize,
  queryInteger,
  range,
  spaceParams,
  timestamp,
  usd,
  uuid,
} from './common.ts';
import { inputItem, outputItem } from './items.ts';
import { offeredTools, toolChoice, toolInputItems } from './tool-requests.ts';

const responseId = z.string().min(1).max(100);

export const responseParams = spaceParams.extend({ response_id: responseId });

const text = z.string().max(1_000_000);

const fileText = z.string().max(4_000_000);

const inputImage = z.strictObject({
  type: z.literal('input_image'),
  image_url: fileText,
  detail: z.enum(['auto', 'low', 'high']).nullish(),
});

const inputFile = z.strictObject({
  type: z.literal('input_file'),
  filename: z.string().min(1).max(255).nullish(),
  file_data: fileText.optional(),
  file_url: z.string().max(2_000).optional(),
});

const reasoningItem = z.strictObject({
  type: z.literal('reasoning'),
  id: z.string().max(100).nullish(),
  status: z.string().max(20).nullish(),
  summary: z.array(z.strictObject({ type: z.literal('summary_text'), text })).max(256),
  encrypted_content: text.nullish(),
  content: z.array(z.unknown()).max(256).nullish(),
});

export const contentPart = z.union([
  z.strictObject({ type: z.literal('input_text'), text }),
  // as it stands in an earlier output
  z.strictObject({
    type: z.literal('output_text'),
    text,
    annotations: z.array(z.unknown()).optional(),
    logprobs: z.array(z.unknown()).optional(),
  }),
  inputImage,
  inputFile,
]);

const message = z.strictObject({
  type: z.literal('message').optional(),
  id: z.string().max(100).optional(),
  status: z.string().max(20).optional(),
  role: z.enum(['user', 'assistant', 'system', 'developer']),
  content: z.union([text, z.array(contentPart).min(1).max(256)]),
});

const item = z.union([
  message,
  z.strictObject({ type: z.literal('item_reference'), id: z.string().min(1).max(100) }),
  reasoningItem,
  ...toolInputItems,
]);

export const inputText = text.min(1);
export const inputItems = z.array(item).min(1).max(512);

const input = z
  .union([
    z.strictObject({ text: inputText }),
    z.strictObject({ messages: z.array(message).min(1).max(512) }),
    z.strictObject({ items: inputItems }),
    message,
  ])
  .meta({ description: 'Exactly one of text, messages or items; a lone message is read as one.' });

export const requestedTool = z.union([
  z.string().min(1).max(128),
  z.strictObject({
    type: z.enum(['knowledge_search', 'file_search']),
    collection_ids: z.array(uuid).max(50).optional(),
    vector_store_ids: z.array(uuid).max(50).optional(),
    max_num_results: range(z.int(), 1, 20).optional(),
    alpha: range(z.number(), 0, 1).optional(),
    rerank: z.boolean().optional(),
  }),
  ...offeredTools,
]);

export const textFormat = z.union([
  z.strictObject({ type: z.enum(['text', 'json_object']) }),
  z.strictObject({
    type: z.literal('json_schema'),
    name: functionName,
    schema: z.record(z.string(), z.unknown()),
    strict: z.boolean().optional(),
  }),
]);

export const platformOptions = z.strictObject({
  instructions: text.nullish(),
  text: z.strictObject({ format: textFormat.optional() }).nullish(),
  temperature: range(z.number(), 0, 2).nullish(),
  top_p: range(z.number(), 0, 1).nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  include: z
    .array(z.enum(['file_search_call.results']))
    .max(10)
    .nullish(),
  truncation: z.enum(['disabled']).nullish(),
  max_iterations: range(z.int(), 1, 50).nullish(),
  max_tool_calls: range(z.int(), 1, 256).nullish(),
  max_cost_usd: usd.nullish(),
  timeout_seconds: range(z.int(), 1, 3_600).nullish(),
  on_busy: z.enum(['reject', 'enqueue', 'cancel_previous']).nullish(),
  on_generation_loss: z.enum(['continue', 'restart', 'fail']).nullish(),
  on_unknown_tool_outcome: z.enum(['report', 'fail']).nullish(),
  stream_granularity: z.enum(['token', 'item']).nullish(),
  stream_events: z.boolean().nullish(),
  skill_id: uuid.nullish(),
  thread_id: uuid.nullish(),
  branch_id: uuid.nullish(),
  collection_ids: z.array(uuid).min(1).max(50).nullish(),
});

export const reasoning = z.strictObject({
  effort: z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']).nullish(),
  summary: z.enum(['auto', 'concise', 'detailed']).nullish(),
});

export const createResponseBody = z
  .strictObject({
    input,
    model: z
      .union([z.string().min(1).max(128), z.strictObject({ alias: z.string().min(1).max(128) })])
      .nullish(),
    tools: z.array(requestedTool).max(128).nullish(),
    tool_choice: toolChoice.nullish(),
    tool_mode: z.enum(['auto_resolve', 'manual', 'none']).default('auto_resolve'),
    max_output_tokens: range(z.int(), 16, 1_000_000).nullish(),
    reasoning: reasoning.nullish(),
    stream: z.boolean().default(false),
    previous_response_id: responseId.nullish(),
    idempotency_key: idempotencyKey.nullish(),
    metadata: z
      .record(z.string().min(1).max(64), z.string().max(512))
      .refine((members) => Object.keys(members).length <= 16, 'has more than 16 members')
      .nullish(),
    platform: platformOptions.nullish(),
    conversation: z.unknown().optional(),
  })
  .meta({ id: 'CreateResponse' });

export type CreateResponseBody = z.infer<typeof createResponseBody>;

export const createResponseHeaders = z.looseObject({
  'idempotency-key': idempotencyKey.optional(),
  'last-event-id': z.string().optional(),
  prefer: z.string().optional(),
});

export const getResponseHeaders = z.looseObject({ 'last-event-id': z.string().optional() });

export const getResponseQuery = z.strictObject({
  stream: z.enum(['true', 'false']).optional(),
  starting_after: queryInteger(0, 999_999_999).optional(),
});

export const listResponsesQuery = z.strictObject({
  ...pageQuery,
  status: z.enum(responseStatuses).optional(),
});

export const inputItemsQuery = z.strictObject(pageQuery);

export const failureReason = z.strictObject({
  code: z.string(),
  type: z.string(),
  message: z.string(),
  param: z.string().nullable(),
});

export const governanceRecord = z.strictObject({
  policy_version: z.int(),
  model_source: z.enum(['requested', 'space_default']),
  tools_offered: z.array(z.string()),
  tools_withheld: z.array(
    z.union([
      z.strictObject({ name: z.string(), missing_permission: z.string() }),
      z.strictObject({
        name: z.string(),
        reason: z.enum([
          'not_enabled',
          'schema_changed',
          'server_unavailable',
          'too_many_tools',
          'definition_too_large',
          'task_required',
          'name_taken',
          'not_supported',
          'not_in_skill',
          'not_in_account',
        ]),
        count: z.int().optional().meta({ description: 'So many tools whose names begin so, before the *.' }),
      }),
    ]),
  ),
  redactions: z.int(),
  pii: z.strictObject({ mode: z.enum(['redact', 'block']), kinds: z.array(z.string()) }).optional(),
  limits: z.strictObject({
    max_iterations: z.int(),
    max_tool_calls: z.int(),
    max_output_tokens: z.int(),
    timeout_seconds: z.int(),
    max_cost_usd: z.string().nullable(),
  }),
  skill: z.strictObject({ id: uuid, version_id: uuid, version: z.int() }).optional(),
  traced: z.literal(true).optional(),
});

export const responseRecord = z
  .strictObject({
    id: z.string(),
    object: z.literal('response'),
    status: z.enum(responseStatuses),
    created_at: timestamp,
    finished_at: timestamp.nullable(),
    expires_at: timestamp,
    space_id: uuid,
    model: z.string(),
    model_alias: z.string(),
    previous_response_id: z.string().nullable(),
    output: z.array(outputItem),
    usage: z.strictObject({
      input_tokens: z.int(),
      cached_input_tokens: z.int().optional(),
      output_tokens: z.int(),
      reasoning_tokens: z.int(),
      cost_usd: cost,
    }),
    platform: z.strictObject({
      tracing_trace_id: z.string().nullable(),
      governance_applied: governanceRecord,
      iteration_count: z.int(),
      failure_reason: failureReason.nullable(),
      incomplete_reason: z.string().nullable(),
      attempts: z.int(),
      tool_call_count: z.int(),
      cancelled_by: uuid.nullable(),
      metadata: z.record(z.string(), z.string()).nullable(),
      thread_id: uuid.optional(),
      branch_id: uuid.optional(),
    }),
  })
  .meta({ id: 'Response' });

export const responseEnvelope = data(responseRecord);
export const responsePage = page(responseRecord);
export const responseDeleted = data(
  z.strictObject({ id: z.string(), object: z.literal('response.deleted'), deleted: z.literal(true) }),
);
export const inputItemPage = page(inputItem);

export const eventsQuery = z.strictObject({
  after: queryInteger(0, 999_999_999).optional(),
  limit: pageSize(1_000, 100),
});

/** A page of stream events; `last_n` is the cursor for the next page. */
export const eventPage = z.strictObject({
  data: z.array(z.looseObject({ type: z.string(), sequence_number: z.int() })),
  meta: z.strictObject({ last_n: z.int(), has_more: z.boolean() }),
});
