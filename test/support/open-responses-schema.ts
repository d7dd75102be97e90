import { z } from 'zod';

/**
 * Open Responses' objects and events (its TypeSpec files `responses`, `items`, `content`, `tools`, `events`),
 * strict about required members; additional members of our own are allowed. Items, tools and events that Open
 * Responses leaves to its implementers are as the `openai` package 7.55.0 types them.
 */

const logprobs = z.array(z.looseObject({ token: z.string(), logprob: z.number() })).optional();

const urlCitation = z.looseObject({
  type: z.literal('url_citation'),
  url: z.string(),
  start_index: z.int(),
  end_index: z.int(),
  title: z.string(),
});
const fileCitation = z.looseObject({
  type: z.literal('file_citation'),
  file_id: z.string(),
  filename: z.string(),
  index: z.int(),
});
const annotation = z.discriminatedUnion('type', [urlCitation, fileCitation]);

const part = z.discriminatedUnion('type', [
  z.looseObject({
    type: z.literal('output_text'),
    text: z.string(),
    annotations: z.array(annotation),
    logprobs,
  }),
  z.looseObject({ type: z.literal('input_text'), text: z.string() }),
  z.looseObject({
    type: z.literal('input_image'),
    image_url: z.string().nullable(),
    detail: z.enum(['low', 'high', 'auto']),
  }),
  z.looseObject({ type: z.literal('input_file'), filename: z.string().optional() }),
  z.looseObject({ type: z.literal('refusal'), refusal: z.string() }),
  z.looseObject({ type: z.literal('summary_text'), text: z.string() }),
]);

const itemStatus = z.enum(['in_progress', 'completed', 'incomplete']);
const callStatus = z.enum(['in_progress', 'searching', 'calling', 'completed', 'incomplete', 'failed']);

export const openResponsesItem = z.discriminatedUnion('type', [
  z.looseObject({
    type: z.literal('message'),
    id: z.string(),
    status: itemStatus,
    role: z.enum(['user', 'assistant', 'system', 'developer']),
    content: z.array(part),
    phase: z.enum(['commentary', 'final_answer']).optional(),
  }),
  z.looseObject({
    type: z.literal('function_call'),
    id: z.string(),
    call_id: z.string(),
    name: z.string(),
    arguments: z.string(),
    status: itemStatus,
  }),
  z.looseObject({
    type: z.literal('function_call_output'),
    id: z.string(),
    call_id: z.string(),
    output: z.union([z.string(), z.array(part)]),
    status: itemStatus,
  }),
  z.looseObject({
    type: z.literal('reasoning'),
    id: z.string(),
    summary: z.array(part),
    encrypted_content: z.string().optional(),
  }),
  z.looseObject({
    type: z.literal('file_search_call'),
    id: z.string(),
    queries: z.array(z.string()),
    status: callStatus,
    results: z.array(z.looseObject({})).nullish(),
  }),
  z.looseObject({
    type: z.literal('mcp_call'),
    id: z.string(),
    arguments: z.string(),
    name: z.string(),
    server_label: z.string(),
    status: callStatus.optional(),
    output: z.string().nullish(),
    error: z.looseObject({ type: z.string() }).nullish(),
    approval_request_id: z.string().nullish(),
  }),
  z.looseObject({
    type: z.literal('mcp_list_tools'),
    id: z.string(),
    server_label: z.string(),
    tools: z.array(z.looseObject({ name: z.string(), input_schema: z.record(z.string(), z.unknown()) })),
    error: z.string().nullish(),
  }),
  z.looseObject({
    type: z.literal('mcp_approval_request'),
    id: z.string(),
    arguments: z.string(),
    name: z.string(),
    server_label: z.string(),
  }),
  z.looseObject({
    type: z.literal('mcp_approval_response'),
    id: z.string(),
    approval_request_id: z.string(),
    approve: z.boolean(),
    reason: z.string().nullish(),
  }),
]);

const tool = z.discriminatedUnion('type', [
  z.looseObject({
    type: z.literal('function'),
    name: z.string(),
    description: z.string().nullable(),
    parameters: z.record(z.string(), z.unknown()).nullable(),
    strict: z.boolean().nullable(),
  }),
  z.looseObject({ type: z.literal('file_search'), vector_store_ids: z.array(z.string()) }),
  z.looseObject({ type: z.literal('mcp'), server_label: z.string() }),
]);

const choiceMode = z.enum(['none', 'auto', 'required']);
const specificChoice = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('function'), name: z.string() }),
  z.looseObject({ type: z.literal('file_search') }),
  z.looseObject({ type: z.literal('mcp'), server_label: z.string() }),
]);

const textFormat = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text') }),
  z.looseObject({ type: z.literal('json_object') }),
  z.looseObject({
    type: z.literal('json_schema'),
    name: z.string(),
    description: z.string().nullable(),
    schema: z.record(z.string(), z.unknown()).nullable(),
    strict: z.boolean(),
  }),
]);

export const openResponsesResource = z
  .looseObject({
    id: z.string().min(1),
    object: z.literal('response'),
    created_at: z.int().max(9_999_999_999),
    completed_at: z.int().max(9_999_999_999).nullable(),
    status: z.enum(['queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled']),
    incomplete_details: z.looseObject({ reason: z.string() }).nullable(),
    model: z.string(),
    previous_response_id: z.string().nullable(),
    instructions: z.string().nullable(),
    output: z.array(openResponsesItem),
    error: z
      .looseObject({
        code: z.string(),
        message: z.string(),
        // A clean error in the AI SDK needs both.
        type: z.string(),
        param: z.string().nullable(),
      })
      .nullable(),
    tools: z.array(tool),
    tool_choice: z.union([
      choiceMode,
      specificChoice,
      z.looseObject({
        type: z.literal('allowed_tools'),
        tools: z.array(specificChoice),
        mode: choiceMode,
      }),
    ]),
    truncation: z.enum(['auto', 'disabled']),
    parallel_tool_calls: z.boolean(),
    text: z.looseObject({ format: textFormat, verbosity: z.enum(['low', 'medium', 'high']).optional() }),
    top_p: z.number(),
    presence_penalty: z.number(),
    frequency_penalty: z.number(),
    top_logprobs: z.int(),
    temperature: z.number(),
    reasoning: z.looseObject({ effort: z.string().nullable(), summary: z.string().nullable() }).nullable(),
    user: z.string().nullable(),
    usage: z
      .looseObject({
        input_tokens: z.int(),
        output_tokens: z.int(),
        total_tokens: z.int(),
        input_tokens_details: z.looseObject({ cached_tokens: z.int(), cache_write_tokens: z.int() }),
        output_tokens_details: z.looseObject({ reasoning_tokens: z.int() }),
      })
      .nullable(),
    max_output_tokens: z.int().nullable(),
    max_tool_calls: z.int().nullable(),
    store: z.boolean(),
    background: z.boolean(),
    service_tier: z.string(),
    metadata: z.record(z.string(), z.string()),
    safety_identifier: z.string().nullable(),
    prompt_cache_key: z.string().nullable(),
  })
  .refine(({ status, completed_at: at }) => (at !== null) === (status === 'completed'), 'completed_at')
  .refine(({ status, error }) => (error !== null) === (status === 'failed'), 'error')
  .refine(
    ({ status, incomplete_details: why }) =>
      (why !== null) === (status === 'incomplete' || status === 'cancelled'),
    'incomplete_details',
  );

const numbered = { sequence_number: z.int().min(0) };
const inItem = { ...numbered, item_id: z.string(), output_index: z.int() };
const inPart = { ...inItem, content_index: z.int() };
const inSummary = { ...inItem, summary_index: z.int() };

const ofResponse = (type: string) =>
  z.looseObject({ type: z.literal(type), ...numbered, response: openResponsesResource });
const ofItem = (type: string) =>
  z.looseObject({ type: z.literal(type), ...numbered, output_index: z.int(), item: openResponsesItem });
const ofCall = (type: string, more: z.ZodRawShape = {}) =>
  z.looseObject({ type: z.literal(type), ...inItem, ...more });

/** Every event that a client of the surface may meet; any other type does not pass. */
export const openResponsesEvent = z.discriminatedUnion('type', [
  ...['created', 'queued', 'in_progress', 'completed', 'incomplete', 'failed'].map((end) =>
    ofResponse(`response.${end}`),
  ),
  ofItem('response.output_item.added'),
  ofItem('response.output_item.done'),
  ...['added', 'done'].map((end) =>
    z.looseObject({ type: z.literal(`response.content_part.${end}`), ...inPart, part }),
  ),
  z.looseObject({ type: z.literal('response.output_text.delta'), ...inPart, delta: z.string(), logprobs }),
  z.looseObject({ type: z.literal('response.output_text.done'), ...inPart, text: z.string(), logprobs }),
  z.looseObject({
    type: z.literal('response.output_text.annotation.added'),
    ...inPart,
    annotation_index: z.int(),
    annotation,
  }),
  ...['added', 'done'].map((end) =>
    z.looseObject({ type: z.literal(`response.reasoning_summary_part.${end}`), ...inSummary, part }),
  ),
  z.looseObject({
    type: z.literal('response.reasoning_summary_text.delta'),
    ...inSummary,
    delta: z.string(),
  }),
  z.looseObject({ type: z.literal('response.reasoning_summary_text.done'), ...inSummary, text: z.string() }),
  ofCall('response.function_call_arguments.delta', { delta: z.string() }),
  ofCall('response.function_call_arguments.done', { arguments: z.string() }),
  ofCall('response.mcp_call_arguments.delta', { delta: z.string() }),
  ofCall('response.mcp_call_arguments.done', { arguments: z.string() }),
  ...['in_progress', 'completed', 'failed'].map((end) => ofCall(`response.mcp_call.${end}`)),
  ...['in_progress', 'completed', 'failed'].map((end) => ofCall(`response.mcp_list_tools.${end}`)),
  ...['in_progress', 'searching', 'completed'].map((end) => ofCall(`response.file_search_call.${end}`)),
] as unknown as [ReturnType<typeof ofCall>, ...ReturnType<typeof ofCall>[]]);

/** The faults of a value, one line each; empty when it is valid. */
export function problemsOf(schema: z.ZodType, value: unknown): string[] {
  const { error } = schema.safeParse(value);
  return (error?.issues ?? []).map(({ path, message }) => `${path.join('.')}: ${message}`);
}
