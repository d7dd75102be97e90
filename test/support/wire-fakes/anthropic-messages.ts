import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import {
  asksToGoOn,
  Refusal,
  strictly,
  type Asked,
  type FakeScript,
  type Vendor,
  type WireWriter,
} from './fake-server.ts';

const cache = { cache_control: z.strictObject({ type: z.literal('ephemeral') }).optional() };
const source = z.strictObject({
  type: z.literal('base64'),
  media_type: z.enum(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'application/pdf']),
  data: z.string().min(1),
});
const textBlock = z.strictObject({
  type: z.literal('text'),
  text: z.string().min(1, 'text content blocks must be non-empty'),
  ...cache,
});
const block = z.discriminatedUnion('type', [
  textBlock,
  z.strictObject({ type: z.literal('image'), source, ...cache }),
  z.strictObject({ type: z.literal('document'), source, title: z.string().optional(), ...cache }),
  z.strictObject({ type: z.literal('thinking'), thinking: z.string(), signature: z.string() }),
  z.strictObject({ type: z.literal('redacted_thinking'), data: z.string() }),
  z.strictObject({
    type: z.literal('tool_use'),
    id: z.string().regex(/^[a-zA-Z0-9_-]+$/),
    name: z.string(),
    input: z.record(z.string(), z.unknown()),
    ...cache,
  }),
  z.strictObject({
    type: z.literal('tool_result'),
    tool_use_id: z.string(),
    content: z.union([
      z.string(),
      z.array(z.union([textBlock, z.strictObject({ type: z.literal('image'), source, ...cache })])),
    ]),
    is_error: z.boolean().optional(),
    ...cache,
  }),
]);
const request = z.strictObject({
  model: z.string(),
  max_tokens: z.int().min(1),
  messages: z
    .array(z.strictObject({ role: z.enum(['user', 'assistant']), content: z.array(block).min(1) }))
    .min(1),
  system: z.array(textBlock).optional(),
  stream: z.literal(true),
  temperature: z.number().min(0).max(1).optional(),
  top_p: z.number().optional(),
  thinking: z
    .union([
      z.strictObject({ type: z.literal('disabled') }),
      z.strictObject({ type: z.literal('enabled'), budget_tokens: z.int().min(1_024) }),
      z.strictObject({ type: z.literal('adaptive'), display: z.enum(['summarized', 'omitted']).optional() }),
    ])
    .optional(),
  output_config: z
    .strictObject({
      effort: z.enum(['low', 'medium', 'high', 'xhigh', 'max']).optional(),
      format: z.unknown().optional(),
    })
    .optional(),
  tools: z
    .array(
      z.strictObject({
        name: z.string().regex(/^[a-zA-Z0-9_-]{1,128}$/),
        description: z.string().optional(),
        input_schema: z.looseObject({ type: z.literal('object') }),
        strict: z.boolean().optional(),
        eager_input_streaming: z.boolean().optional(),
        ...cache,
      }),
    )
    .optional(),
  tool_choice: z
    .discriminatedUnion('type', [
      z.strictObject({ type: z.enum(['auto', 'any']), disable_parallel_tool_use: z.boolean().optional() }),
      z.strictObject({ type: z.literal('none') }),
      z.strictObject({
        type: z.literal('tool'),
        name: z.string(),
        disable_parallel_tool_use: z.boolean().optional(),
      }),
    ])
    .optional(),
});

type Request = z.infer<typeof request>;
type Message = Request['messages'][number];

/** Anthropic's Messages API. */
export function anthropicMessages(): Vendor {
  const signed = new Map<string, string>();
  return {
    accepts: (method, path) => method === 'POST' && path === '/v1/messages',
    error: (status, text) => ({
      type: 'error',
      error: {
        type: status === 429 ? 'rate_limit_error' : status === 500 ? 'api_error' : 'invalid_request_error',
        message: text,
      },
    }),
    read: ({ body, headers }, script) => {
      if (headers['anthropic-version'] === undefined)
        throw new Refusal('anthropic-version: header is required');
      const asked = strictly(request, body, (path, keys, text) =>
        keys === null
          ? `${path}: ${text}`
          : `${[path, keys[0]].filter(Boolean).join('.')}: Extra inputs are not permitted`,
      );
      checkMessages(asked, signed, script);
      return understand(asked);
    },
    writer: ({ body }, send) => writer(signed, (body as Request).model, send),
  };
}

function checkMessages(
  { messages, thinking }: Request,
  signed: ReadonlyMap<string, string>,
  script: FakeScript,
): void {
  messages.forEach(({ content }, at) => {
    const before = at === 0 ? [] : messages[at - 1]!.content;
    const called = before.flatMap((each) => (each.type === 'tool_use' ? [each.id] : []));
    content.forEach((each, i) => {
      if (each.type === 'tool_result' && !called.includes(each.tool_use_id)) {
        throw new Refusal(
          `messages.${at}.content.${i}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${each.tool_use_id}. ` +
            'Each `tool_result` block must have a corresponding `tool_use` block in the previous message.',
        );
      }
      if (each.type === 'thinking' && signed.get(each.signature) !== each.thinking) {
        throw new Refusal(`messages.${at}.content.${i}: Invalid \`signature\` in \`thinking\` block`);
      }
    });
    const answered = content.flatMap((each) => (each.type === 'tool_result' ? [each.tool_use_id] : []));
    const missing = called.filter((id) => !answered.includes(id));
    if (missing.length > 0) {
      throw new Refusal(
        `messages.${at - 1}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.join(', ')}.`,
      );
    }
  });
  const last = messages.at(-1)!;
  if (last.role === 'assistant' && (script.refusesPrefill === true || thinks(thinking))) {
    throw new Refusal(
      'This model does not support assistant message prefill. The conversation must end with a user message.',
    );
  }
  const end = last.content.at(-1);
  if (last.role === 'assistant' && end?.type === 'text' && /\s$/.test(end.text)) {
    throw new Refusal('messages: final assistant content cannot end with trailing whitespace');
  }
  if (thinks(thinking)) checkLoop(messages);
}

/** In a tool loop each step must begin with the model's reasoning. */
function checkLoop(messages: readonly Message[]): void {
  const asked = messages.findLastIndex((each) => isQuestion(each));
  messages.forEach(({ role, content }, at) => {
    const first = content[0]!.type;
    const steps = role === 'assistant' && content.some(({ type }) => type === 'tool_use');
    if (at > asked && steps && first !== 'thinking' && first !== 'redacted_thinking') {
      throw new Refusal(
        `messages.${at}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${first}\`. When \`thinking\` is enabled, ` +
          'a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks).',
      );
    }
  });
}

const isQuestion = ({ role, content }: Message): boolean =>
  role === 'user' && content.every(({ type }) => type !== 'tool_result');
const thinks = (thinking: Request['thinking']): boolean =>
  thinking !== undefined && thinking.type !== 'disabled';
const textOf = (message: Message | undefined, role: string): string =>
  message?.role === role
    ? message.content.map((each) => (each.type === 'text' ? each.text : '')).join('')
    : '';

function understand({ messages, tools, tool_choice: choice, thinking }: Request): Asked {
  const goesOn = asksToGoOn(textOf(messages.at(-1), 'user'));
  const prefilled = messages.at(-1)!.role === 'assistant';
  const base = goesOn ? messages.slice(0, -2) : prefilled ? messages.slice(0, -1) : messages;
  const question = base.findLastIndex((each) => isQuestion(each));
  const round = base
    .slice(question + 1)
    .filter(({ content }) => content.some(({ type }) => type === 'tool_use')).length;
  return {
    round,
    prefix: goesOn
      ? textOf(messages.at(-2), 'assistant')
      : prefilled
        ? textOf(messages.at(-1), 'assistant')
        : null,
    offers: choice?.type === 'none' ? [] : (tools ?? []).map(({ name }) => name),
    thinks: thinks(thinking),
  };
}

function writer(
  signed: Map<string, string>,
  model: string,
  emit: (event: string | null, data: unknown) => void,
): WireWriter {
  let index = 0;
  let textOpen = false;
  const send = (type: string, data: object = {}) => emit(type, { type, ...data });
  const close = () => {
    if (textOpen) send('content_block_stop', { index: index++ });
    textOpen = false;
  };
  return {
    begin: () =>
      send('message_start', {
        message: {
          id: `msg_${randomBytes(8).toString('hex')}`,
          type: 'message',
          role: 'assistant',
          model,
          content: [],
          // Cached tokens are not included in the rest.
          usage: { input_tokens: 60, cache_read_input_tokens: 40, output_tokens: 1 },
        },
      }),
    reasoning: (text) => {
      const signature = randomBytes(24).toString('base64');
      signed.set(signature, text);
      send('content_block_start', {
        index,
        content_block: { type: 'thinking', thinking: '', signature: '' },
      });
      for (const half of [text.slice(0, 7), text.slice(7)]) {
        send('content_block_delta', { index, delta: { type: 'thinking_delta', thinking: half } });
      }
      send('content_block_delta', { index, delta: { type: 'signature_delta', signature } });
      send('content_block_stop', { index: index++ });
    },
    text: (piece) => {
      if (!textOpen) send('content_block_start', { index, content_block: { type: 'text', text: '' } });
      textOpen = true;
      send('content_block_delta', { index, delta: { type: 'text_delta', text: piece } });
    },
    call: (name, args) => {
      close();
      const id = `toolu_${randomBytes(8).toString('hex')}`;
      send('content_block_start', { index, content_block: { type: 'tool_use', id, name, input: {} } });
      const text = JSON.stringify(args);
      for (const half of [text.slice(0, 5), text.slice(5)]) {
        send('content_block_delta', { index, delta: { type: 'input_json_delta', partial_json: half } });
      }
      send('content_block_stop', { index: index++ });
    },
    end: (reason, { output }) => {
      close();
      send('message_delta', {
        delta: { stop_reason: reason === 'tool_calls' ? 'tool_use' : 'end_turn', stop_sequence: null },
        usage: { output_tokens: output },
      });
      send('message_stop');
    },
  };
}
