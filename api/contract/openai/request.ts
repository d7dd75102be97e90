import { z } from 'zod';
import { idempotencyKey, pageSize, queryInteger, spaceParams } from '../common.ts';
import {
  createResponseBody,
  inputItems,
  inputText,
  platformOptions,
  reasoning,
  requestedTool,
  responseParams,
  textFormat,
} from '../responses.ts';
import { emptyIncludes, hints, hostedTool, reasoningHints, verbosity } from './hints.ts';

const native = createResponseBody.shape;
const options = platformOptions.shape;

export const openAiParams = spaceParams;
export const openAiResponseParams = responseParams;
export const openAiModelParams = spaceParams.extend({ model: z.string().min(1).max(128) });

/** Accepts any value, so that a value other than the default is refused as unsupported and not as unknown. */
const notYet = z.unknown().optional();

/** Request of OpenAI's clients to create a response. Fields with the native meaning have the native schema. */
export const openAiCreateBody = z
  .strictObject({
    input: z.union([inputText, inputItems]).meta({ description: 'Text of the user, or items.' }),
    model: z.string().min(1).max(128).nullish(),
    instructions: options.instructions,
    tools: z
      .array(z.union([requestedTool, hostedTool]))
      .max(128)
      .nullish(),
    tool_choice: native.tool_choice,
    parallel_tool_calls: options.parallel_tool_calls,
    max_tool_calls: options.max_tool_calls,
    max_output_tokens: native.max_output_tokens,
    temperature: options.temperature,
    top_p: options.top_p,
    text: z.strictObject({ format: textFormat.nullish(), verbosity }).nullish(),
    reasoning: z.strictObject({ ...reasoning.shape, ...reasoningHints }).nullish(),
    include: z
      .array(z.enum(['file_search_call.results', ...emptyIncludes]))
      .max(10)
      .nullish(),
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
    top_logprobs: notYet,
    ...hints,
  })
  .meta({ id: 'OpenAiCreateResponse' });

export type OpenAiCreateBody = z.infer<typeof openAiCreateBody>;

/** Unimplemented fields, each with the values that have no effect; null always has none. */
export const neutralValues: Readonly<Partial<Record<keyof OpenAiCreateBody, readonly unknown[]>>> = {
  access_programs: [],
  context_management: [],
  conversation: [],
  frequency_penalty: [0],
  image: [],
  moderation: [],
  presence_penalty: [0],
  prompt: [],
  top_logprobs: [0],
};

export const openAiCreateHeaders = z.looseObject({
  'idempotency-key': idempotencyKey.optional(),
  'last-event-id': z.string().optional(),
});

const flag = z.enum(['true', 'false']).optional();

/** `include` can only request content that was stored when the response was created: here it has no effect. */
const include = {
  include: notYet,
  'include[]': notYet,
};

export const openAiRetrieveQuery = z.strictObject({
  stream: flag,
  starting_after: queryInteger(0, 999_999_999).optional(),
  include_obfuscation: flag,
  ...include,
});

export const openAiInputItemsQuery = z.strictObject({
  limit: pageSize(100, 20),
  order: z.enum(['asc', 'desc']).default('desc'),
  after: z.string().min(1).max(100).optional(),
  ...include,
});
