import { z } from 'zod';

/** An error in the vendor's format. */
export class WireError extends Error {
  readonly status: number;
  readonly type: string;
  readonly code: string | null;
  readonly param: string | null;

  constructor(
    status: number,
    message: string,
    detail: { type?: string; code?: string; param?: string } = {},
  ) {
    super(message);
    this.status = status;
    this.type = detail.type ?? 'invalid_request_error';
    this.code = detail.code ?? null;
    this.param = detail.param ?? null;
  }

  get body(): { error: { message: string; type: string; param: string | null; code: string | null } } {
    return { error: { message: this.message, type: this.type, param: this.param, code: this.code } };
  }
}

const toolName = z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/);
const textPart = z.strictObject({ type: z.literal('text'), text: z.string() });
const text = z.union([z.string(), z.array(textPart).min(1)]);
const userPart = z.discriminatedUnion('type', [
  textPart,
  z.strictObject({
    type: z.literal('image_url'),
    image_url: z.strictObject({ url: z.string(), detail: z.string().optional() }),
  }),
  z.strictObject({
    type: z.literal('file'),
    file: z.strictObject({ file_data: z.string(), filename: z.string().optional() }),
  }),
]);
const name = z.string().optional();
const toolCall = z.strictObject({
  id: z.string().min(1),
  type: z.literal('function'),
  function: z.strictObject({ name: toolName, arguments: z.string() }),
});
const message = z.discriminatedUnion('role', [
  z.strictObject({ role: z.literal('system'), content: text, name }),
  z.strictObject({ role: z.literal('developer'), content: text, name }),
  z.strictObject({ role: z.literal('user'), content: z.union([z.string(), z.array(userPart).min(1)]), name }),
  z.strictObject({
    role: z.literal('assistant'),
    content: text.nullable().optional(),
    reasoning_content: z.string().min(1).optional(),
    refusal: z.string().nullable().optional(),
    tool_calls: z.array(toolCall).min(1).optional(),
    name,
  }),
  z.strictObject({ role: z.literal('tool'), content: text, tool_call_id: z.string() }),
]);
const tool = z.strictObject({
  type: z.literal('function'),
  function: z.strictObject({
    name: toolName,
    description: z.string().optional(),
    parameters: z.record(z.string(), z.unknown()).optional(),
    strict: z.boolean().nullable().optional(),
  }),
});
const penalty = z.number().min(-2).max(2).nullable().optional();
const limit = z.int().min(1).nullable().optional();
const chatRequest = z.strictObject({
  model: z.string().min(1),
  messages: z.array(message).min(1),
  stream: z.literal(true, 'this server only streams'),
  stream_options: z
    .strictObject({ include_usage: z.boolean().optional(), include_obfuscation: z.boolean().optional() })
    .optional(),
  tools: z.array(tool).min(1).max(128).optional(),
  tool_choice: z
    .union([
      z.enum(['none', 'auto', 'required']),
      z.strictObject({ type: z.literal('function'), function: z.strictObject({ name: toolName }) }),
    ])
    .optional(),
  parallel_tool_calls: z.boolean().optional(),
  temperature: z.number().min(0).max(2).nullable().optional(),
  top_p: z.number().min(0).max(1).nullable().optional(),
  presence_penalty: penalty,
  frequency_penalty: penalty,
  max_tokens: limit,
  max_completion_tokens: limit,
  stop: z
    .union([z.string(), z.array(z.string()).max(4)])
    .nullable()
    .optional(),
  seed: z.int().nullable().optional(),
  n: z.literal(1).optional(),
  user: z.string().optional(),
  metadata: z.record(z.string(), z.string()).nullable().optional(),
  store: z.boolean().nullable().optional(),
  reasoning_effort: z
    .enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'])
    .nullable()
    .optional(),
  verbosity: z.enum(['low', 'medium', 'high']).nullable().optional(),
  service_tier: z.string().nullable().optional(),
  safety_identifier: z.string().optional(),
  prompt_cache_key: z.string().optional(),
  response_format: z
    .discriminatedUnion('type', [
      z.strictObject({ type: z.literal('text') }),
      z.strictObject({ type: z.literal('json_object') }),
      z.strictObject({
        type: z.literal('json_schema'),
        json_schema: z.strictObject({
          name: toolName,
          description: z.string().optional(),
          schema: z.record(z.string(), z.unknown()).optional(),
          strict: z.boolean().nullable().optional(),
        }),
      }),
    ])
    .optional(),
});

export type ChatRequest = z.infer<typeof chatRequest>;
export type ChatMessage = ChatRequest['messages'][number];

/** Reads a request body as strictly as the vendor, or throws its 400. */
export function parseChatRequest(body: string): ChatRequest {
  const parsed = chatRequest.safeParse(parseJson(body));
  if (!parsed.success) {
    const issue = parsed.error.issues[0]!;
    const unknown = issue.code === 'unrecognized_keys';
    throw new WireError(
      400,
      unknown ? `Unrecognized request argument supplied: ${issue.keys.join(', ')}` : issue.message,
      {
        param: [...issue.path, ...(unknown ? issue.keys.slice(0, 1) : [])].join('.'),
        ...(unknown ? { code: 'unknown_parameter' } : {}),
      },
    );
  }
  checkCalls(parsed.data.messages);
  checkTools(parsed.data);
  return parsed.data;
}

function parseJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    throw new WireError(400, 'We could not parse the JSON body of your request.');
  }
}

/**
 * Every call is answered by exactly one tool message before any other message, and every answer has its call.
 */
function checkCalls(messages: ChatMessage[]): void {
  const waiting = new Set<string>();
  const fail = (at: number, text: string) => {
    throw new WireError(400, text, { param: `messages.[${at}].role` });
  };
  messages.forEach((each, at) => {
    if (each.role === 'tool') {
      if (!waiting.delete(each.tool_call_id)) {
        fail(at, "messages with role 'tool' must be a response to a preceding message with 'tool_calls'.");
      }
      return;
    }
    if (waiting.size > 0) {
      fail(
        at,
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each call.",
      );
    }
    if (each.role !== 'assistant') return;
    if (each.tool_calls === undefined && (each.content ?? null) === null) {
      fail(at, "An assistant message needs 'content' or 'tool_calls'.");
    }
    for (const call of each.tool_calls ?? []) {
      if (waiting.has(call.id)) fail(at, `Duplicate tool call id ${call.id}.`);
      waiting.add(call.id);
    }
  });
  if (waiting.size > 0)
    fail(messages.length - 1, `Tool calls without a response: ${[...waiting].join(', ')}.`);
}

function checkTools({ tools, tool_choice: choice, parallel_tool_calls: parallel }: ChatRequest): void {
  const names = (tools ?? []).map((each) => each.function.name);
  if (new Set(names).size < names.length)
    throw new WireError(400, 'Tool names must be unique.', { param: 'tools' });
  if (tools === undefined && choice !== undefined) {
    throw new WireError(400, "'tool_choice' is only allowed when 'tools' are specified.", {
      param: 'tool_choice',
    });
  }
  if (tools === undefined && parallel !== undefined) {
    throw new WireError(400, "'parallel_tool_calls' is only allowed when 'tools' are specified.", {
      param: 'parallel_tool_calls',
    });
  }
  if (typeof choice === 'object' && !names.includes(choice.function.name)) {
    throw new WireError(400, `Tool choice '${choice.function.name}' not found in 'tools'.`, {
      param: 'tool_choice',
    });
  }
}

/** The text of a message, its parts joined; other kinds of parts count as nothing. */
export function textOf(each: ChatMessage): string {
  if (typeof each.content === 'string') return each.content;
  return (each.content ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('');
}
