import { z } from 'zod';
import { responseStatuses } from '#domain/responses/record/response-status.ts';
import { uuid } from '../common.ts';
import { inputItem, outputItem } from '../items.ts';
import { failureReason, responseRecord, textFormat } from '../responses.ts';

const native = responseRecord.shape;
const seconds = z.int().meta({ description: 'Unix time in seconds.' });

const tool = z.looseObject({ type: z.string() });

/** A response as clients of OpenAI and Open Responses parse it, with additional members. */
export const openAiResponse = z
  .strictObject({
    id: z.string(),
    object: z.literal('response'),
    created_at: seconds,
    completed_at: seconds.nullable(),
    status: z.enum(responseStatuses),
    background: z.boolean(),
    error: failureReason.nullable(),
    incomplete_details: z.strictObject({ reason: z.string() }).nullable(),
    instructions: z.string().nullable(),
    max_output_tokens: z.int(),
    max_tool_calls: z.int(),
    metadata: z.record(z.string(), z.string()),
    model: z.string(),
    output: z.array(outputItem),
    parallel_tool_calls: z.boolean(),
    presence_penalty: z.literal(0),
    frequency_penalty: z.literal(0),
    previous_response_id: z.string().nullable(),
    prompt_cache_key: z.null(),
    reasoning: z.strictObject({ effort: z.string().nullable(), summary: z.string().nullable() }),
    safety_identifier: z.null(),
    service_tier: z.literal('default'),
    store: z.boolean(),
    temperature: z.number(),
    text: z.strictObject({
      format: z.union([textFormat, z.looseObject({ type: z.literal('json_schema') })]),
      verbosity: z.literal('medium'),
    }),
    tool_choice: z.union([z.enum(['auto', 'none', 'required']), z.looseObject({ type: z.string() })]),
    tools: z.array(tool),
    top_logprobs: z.literal(0),
    top_p: z.number(),
    truncation: z.literal('disabled'),
    usage: z.strictObject({
      input_tokens: z.int(),
      input_tokens_details: z.strictObject({ cached_tokens: z.int(), cache_write_tokens: z.int() }),
      output_tokens: z.int(),
      output_tokens_details: z.strictObject({ reasoning_tokens: z.int() }),
      total_tokens: z.int(),
      cost_usd: z.string(),
    }),
    user: z.null(),
    access_programs: z.null(),
    finished_at: seconds.nullable(),
    expires_at: seconds,
    space_id: uuid,
    model_alias: z.string(),
    platform: native.platform,
  })
  .meta({ id: 'OpenAiResponse' });

export type OpenAiResponse = z.infer<typeof openAiResponse>;

export const openAiDeleted = z.strictObject({
  id: z.string(),
  object: z.literal('response'),
  deleted: z.literal(true),
});

export const openAiItemList = z
  .strictObject({
    object: z.literal('list'),
    data: z.array(inputItem),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
    has_more: z.boolean(),
  })
  .meta({ id: 'OpenAiItemList' });

export const openAiModel = z
  .strictObject({
    id: z.string().meta({ description: 'The alias by which a request names the model.' }),
    object: z.literal('model'),
    created: seconds,
    owned_by: z.string().meta({ description: 'The kind of its provider.' }),
  })
  .meta({ id: 'OpenAiModel' });

export const openAiModelList = z.strictObject({ object: z.literal('list'), data: z.array(openAiModel) });
