import { z } from 'zod';
import { idempotencyKey, spaceParams } from '../common.ts';
import {
  createResponseBody,
  inputItems,
  inputText,
  platformOptions,
  responseParams,
  textFormat,
} from '../responses.ts';

const native = createResponseBody.shape;
const options = platformOptions.shape;

export const openAiParams = spaceParams;
export const openAiResponseParams = responseParams;
export const openAiModelParams = spaceParams.extend({ model: z.string().min(1).max(128) });

/** Takes any value, so that another than its default can be refused as unsupported and not as unknown. */
const notYet = z.unknown().optional();

/** What OpenAI's clients send to create a response. Where it means the same as natively it is the same. */
export const openAiCreateBody = z
  .strictObject({
    input: z.union([inputText, inputItems]).meta({ description: 'Text of the user, or items.' }),
    model: z.string().min(1).max(128).nullish(),
    instructions: options.instructions,
    tools: native.tools,
    tool_choice: native.tool_choice,
    parallel_tool_calls: options.parallel_tool_calls,
    max_tool_calls: options.max_tool_calls,
    max_output_tokens: native.max_output_tokens,
    temperature: options.temperature,
    top_p: options.top_p,
    text: z.strictObject({ format: textFormat.nullish(), verbosity: notYet }).nullish(),
    reasoning: native.reasoning,
    include: options.include,
    metadata: native.metadata,
    previous_response_id: native.previous_response_id,
    stream: z.boolean().nullish(),
    stream_options: z
      .strictObject({ include_obfuscation: z.boolean().nullish() })
      .nullish()
      .meta({ description: 'Accepted; nothing is obfuscated.' }),
    background: z.boolean().nullish().meta({
      description: 'true answers at once; otherwise the answer comes with the end of the response.',
    }),
    store: z
      .boolean()
      .nullish()
      .meta({ description: 'false: the content is removed ten minutes after the end.' }),
    access_programs: notYet,
    context_management: notYet,
    conversation: notYet,
    frequency_penalty: notYet,
    image: notYet,
    moderation: notYet,
    presence_penalty: notYet,
    prompt: notYet,
    prompt_cache_key: notYet,
    prompt_cache_options: notYet,
    prompt_cache_retention: notYet,
    safety_identifier: notYet,
    service_tier: notYet,
    top_logprobs: notYet,
    truncation: notYet,
    user: notYet,
  })
  .meta({ id: 'OpenAiCreateResponse' });

export type OpenAiCreateBody = z.infer<typeof openAiCreateBody>;

/** Fields that nothing here implements, each with the values that ask for nothing; null always does. */
export const neutralValues: Readonly<Partial<Record<keyof OpenAiCreateBody, readonly unknown[]>>> = {
  access_programs: [],
  context_management: [],
  conversation: [],
  frequency_penalty: [0],
  image: [],
  moderation: [],
  presence_penalty: [0],
  prompt: [],
  prompt_cache_key: [],
  prompt_cache_options: [],
  prompt_cache_retention: [],
  safety_identifier: [],
  service_tier: ['auto', 'default'],
  top_logprobs: [0],
  truncation: ['disabled'],
  user: [],
};

export const openAiCreateHeaders = z.looseObject({
  'idempotency-key': idempotencyKey.optional(),
  'last-event-id': z.string().optional(),
});

const flag = z.enum(['true', 'false']).optional();

/** `include` can only ask for what was kept when the response was created: here it asks for nothing. */
const include = {
  include: notYet,
  'include[]': notYet,
};

export const openAiRetrieveQuery = z.strictObject({
  stream: flag,
  starting_after: z
    .string()
    .regex(/^\d{1,9}$/)
    .transform(Number)
    .optional(),
  include_obfuscation: flag,
  ...include,
});

export const openAiInputItemsQuery = z.strictObject({
  limit: z
    .string()
    .regex(/^\d{1,3}$/)
    .transform(Number)
    .pipe(z.int().min(1).max(100))
    .default(20),
  order: z.enum(['asc', 'desc']).default('desc'),
  after: z.string().min(1).max(100).optional(),
  ...include,
});
