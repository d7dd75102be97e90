import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { asksToGoOn, Refusal, strictly, type Asked, type Vendor, type WireWriter } from './fake-server.ts';

const inputPart = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('input_text'), text: z.string() }),
  z.strictObject({
    type: z.literal('input_image'),
    image_url: z.string().regex(/^data:image\/[a-z]+;base64,/),
    detail: z.enum(['low', 'high', 'auto']).optional(),
  }),
  z.strictObject({
    type: z.literal('input_file'),
    filename: z.string(),
    file_data: z.string().regex(/^data:application\/pdf;base64,/),
  }),
]);
const said = z.union([
  z.string(),
  z.array(
    z.strictObject({
      type: z.literal('output_text'),
      text: z.string(),
      annotations: z.array(z.unknown()).optional(),
    }),
  ),
]);
const message = {
  type: z.literal('message').optional(),
  id: z.string().optional(),
  status: z.string().optional(),
};
const item = z.union([
  z.strictObject({
    ...message,
    role: z.enum(['user', 'system', 'developer']),
    content: z.union([z.string(), z.array(inputPart).min(1)]),
  }),
  z.strictObject({
    ...message,
    role: z.literal('assistant'),
    content: said,
    phase: z.enum(['commentary', 'final_answer']).optional(),
  }),
  z.strictObject({
    type: z.literal('function_call'),
    id: z.string().optional(),
    call_id: z.string(),
    name: z.string(),
    arguments: z.string(),
    status: z.string().optional(),
  }),
  z.strictObject({
    type: z.literal('function_call_output'),
    call_id: z.string(),
    output: z.union([z.string(), z.array(inputPart).min(1)]),
    status: z.string().optional(),
  }),
  z.strictObject({
    type: z.literal('reasoning'),
    id: z.string(),
    summary: z.array(z.strictObject({ type: z.literal('summary_text'), text: z.string() })),
    encrypted_content: z.string().nullish(),
  }),
  z.strictObject({ type: z.literal('item_reference'), id: z.string() }),
]);
const format = z.discriminatedUnion('type', [
  z.strictObject({ type: z.enum(['text', 'json_object']) }),
  z.strictObject({
    type: z.literal('json_schema'),
    name: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/),
    description: z.string().optional(),
    schema: z.record(z.string(), z.unknown()),
    strict: z.boolean().nullish(),
  }),
]);
const request = z.strictObject({
  model: z.string(),
  input: z.array(item).min(1),
  stream: z.literal(true),
  store: z.boolean().optional(),
  background: z.boolean().optional(),
  include: z.array(z.enum(['reasoning.encrypted_content', 'message.output_text.logprobs'])).optional(),
  max_output_tokens: z.int().min(16).optional(),
  temperature: z.number().optional(),
  top_p: z.number().optional(),
  parallel_tool_calls: z.boolean().optional(),
  reasoning: z
    .strictObject({
      effort: z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']).optional(),
      summary: z.enum(['auto', 'concise', 'detailed']).nullish(),
    })
    .optional(),
  text: z.strictObject({ format: format.optional(), verbosity: z.string().optional() }).optional(),
  tools: z
    .array(
      z.strictObject({
        type: z.literal('function'),
        name: z.string(),
        description: z.string().nullish(),
        parameters: z.record(z.string(), z.unknown()),
        strict: z.boolean().nullish(),
      }),
    )
    .optional(),
  tool_choice: z
    .union([
      z.enum(['auto', 'none', 'required']),
      z.strictObject({ type: z.literal('function'), name: z.string() }),
    ])
    .optional(),
});

type Item = z.infer<typeof item>;
type Request = z.infer<typeof request>;

interface Run {
  events: string[];
  ended: boolean;
}

/**
 * OpenAI's Responses API. Reasoning that leads to a call must come back with it while the loop runs. OpenAI
 * requires that only for calls with their own id; here it is required for every call, to detect lost
 * reasoning.
 */
export function openAiResponses(): Vendor {
  const encrypted = new Map<string, string>();
  const runs = new Map<string, Run>();
  return {
    accepts: (method, path) => method === 'POST' && path === '/v1/responses',
    error: (_status, text, code) => ({
      error: { message: text, type: 'invalid_request_error', param: null, code },
    }),
    read: ({ body }) => {
      const asked = strictly(request, body, (path, keys, text) =>
        keys === null
          ? `Invalid value: '${path}'. ${text}`
          : `Unknown parameter: '${[path, keys[0]].filter(Boolean).join('.')}'.`,
      );
      if (asked.background === true && asked.store !== true) {
        throw new Refusal('Background mode requires `store` to be true.');
      }
      checkItems(asked, encrypted);
      return understand(asked);
    },
    other: async ({ method, path }, response) => {
      const ended = /^\/v1\/responses\/([^/?]+)\/cancel$/.exec(path)?.[1];
      if (method === 'POST' && ended !== undefined) {
        if (!runs.has(ended)) throw new Refusal(`Response with id '${ended}' not found.`, { status: 404 });
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ id: ended, object: 'response', status: 'cancelled' }));
        return true;
      }
      const id = /^\/v1\/responses\/([^/?]+)\?stream=true$/.exec(path)?.[1];
      if (method !== 'GET' || id === undefined) return false;
      const run = runs.get(id);
      if (run === undefined) throw new Refusal(`Response with id '${id}' not found.`, { status: 404 });
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (let at = 0; at < run.events.length || !run.ended;) {
        if (at < run.events.length) response.write(run.events[at++]);
        else await new Promise((resolve) => setTimeout(resolve, 5));
        if (response.destroyed) return true;
      }
      response.end();
      return true;
    },
    writer: ({ body }, send) => {
      const { background } = body as Request;
      const run: Run = { events: [], ended: false };
      const id = `resp_${randomBytes(8).toString('hex')}`;
      if (background === true) runs.set(id, run);
      return writer(
        {
          id,
          encrypted,
          model: (body as Request).model,
          run,
          summary: (body as Request).reasoning?.summary != null,
        },
        send,
      );
    },
  };
}

function checkItems({ input, store }: Request, encrypted: ReadonlyMap<string, string>): void {
  const waiting = new Set<string>();
  const question = input.findLastIndex((each) => 'role' in each && each.role === 'user');
  input.forEach((each, at) => {
    const type = 'role' in each ? 'message' : each.type;
    if (each.type === 'item_reference') {
      throw new Refusal(
        `Item with id '${each.id}' not found. Items are not persisted when \`store\` is set to false.`,
        { status: 404 },
      );
    }
    if (each.type === 'function_call') {
      waiting.add(each.call_id);
      if (at > question && encrypted.size > 0 && !ledTo(input, at)) {
        throw new Refusal(
          `Item '${each.id ?? each.call_id}' of type 'function_call' was provided without its required 'reasoning' item.`,
        );
      }
    }
    if (each.type === 'function_call_output' && !waiting.delete(each.call_id)) {
      throw new Refusal(`No tool call found for function call output with call_id ${each.call_id}.`);
    }
    if (type === 'message' && waiting.size > 0) {
      throw new Refusal(`No tool output found for function call ${[...waiting][0]}.`);
    }
    if (each.type !== 'reasoning') return;
    if (store === false && each.encrypted_content == null) {
      throw new Refusal(
        `Item with id '${each.id}' not found. Items are not persisted when \`store\` is set to false.`,
        { status: 404 },
      );
    }
    if (encrypted.get(each.id) !== each.encrypted_content) {
      throw new Refusal(`The encrypted content for item ${each.id} could not be verified.`, {
        code: 'invalid_encrypted_content',
      });
    }
    const next = input[at + 1];
    const follows =
      next !== undefined &&
      (next.type === 'reasoning' ||
        next.type === 'function_call' ||
        ('role' in next && next.role === 'assistant'));
    if (!follows) {
      throw new Refusal(
        `Item '${each.id}' of type 'reasoning' was provided without its required following item.`,
      );
    }
  });
  if (waiting.size > 0) throw new Refusal(`No tool output found for function call ${[...waiting][0]}.`);
}

/** Whether reasoning comes before the calls of the same step. */
function ledTo(input: readonly Item[], at: number): boolean {
  const before = input.slice(0, at).findLast((each) => each.type !== 'function_call');
  return before?.type === 'reasoning';
}

function understand({ input, tools, tool_choice: choice }: Request): Asked {
  const text = (each: Item | undefined, role: string): string | null => {
    if (each === undefined || !('role' in each) || each.role !== role) return null;
    return typeof each.content === 'string'
      ? each.content
      : each.content.map((part) => ('text' in part ? part.text : '')).join('');
  };
  const goesOn = asksToGoOn(text(input.at(-1), 'user') ?? '');
  const base = goesOn ? input.slice(0, -2) : input;
  const question = base.findLastIndex((each) => text(each, 'user') !== null);
  const round = base.slice(question + 1).filter((each) => each.type === 'function_call').length;
  return {
    round,
    prefix: goesOn ? text(input.at(-2), 'assistant') : null,
    offers: choice === 'none' ? [] : (tools ?? []).map(({ name }) => name),
    thinks: true,
  };
}

interface Writing {
  id: string;
  encrypted: Map<string, string>;
  model: string;
  run: Run;
  summary: boolean;
}

function writer(
  { id, encrypted, model, run, summary }: Writing,
  toClient: (event: string | null, data: unknown) => void,
): WireWriter {
  let n = 0;
  let index = 0;
  let open: { id: string; text: string } | null = null;
  const base = { id, object: 'response', created_at: 1_700_000_000, model, output: [] };
  const send = (type: string, data: object) => {
    const payload = { type, sequence_number: n++, ...data };
    run.events.push(`event: ${type}\ndata: ${JSON.stringify(payload)}\n\n`);
    toClient(type, payload);
  };
  const close = () => {
    if (open === null) return;
    const { id: itemId, text } = open;
    const part = { type: 'output_text', text, annotations: [] };
    send('response.output_text.done', { item_id: itemId, output_index: index, content_index: 0, text });
    send('response.output_item.done', {
      output_index: index++,
      item: { id: itemId, type: 'message', role: 'assistant', status: 'completed', content: [part] },
    });
    open = null;
  };
  return {
    begin: () => {
      send('response.created', { response: { ...base, status: 'in_progress' } });
      send('response.in_progress', { response: { ...base, status: 'in_progress' } });
    },
    reasoning: (text) => {
      const itemId = `rs_${randomBytes(8).toString('hex')}`;
      const place = { item_id: itemId, output_index: index };
      const secret = randomBytes(24).toString('base64');
      encrypted.set(itemId, secret);
      send('response.output_item.added', {
        output_index: index,
        item: {
          id: itemId,
          type: 'reasoning',
          summary: [],
          encrypted_content: `${secret.slice(0, 8)}-unfinished`,
        },
      });
      // In two parts, like longer summaries.
      const parts = summary ? [text, 'So I know.'] : [];
      parts.forEach((each, at) => {
        send('response.reasoning_summary_part.added', {
          ...place,
          summary_index: at,
          part: { type: 'summary_text', text: '' },
        });
        send('response.reasoning_summary_text.delta', { ...place, summary_index: at, delta: each });
        send('response.reasoning_summary_part.done', {
          ...place,
          summary_index: at,
          part: { type: 'summary_text', text: each },
        });
      });
      send('response.output_item.done', {
        output_index: index++,
        item: {
          id: itemId,
          type: 'reasoning',
          summary: parts.map((each) => ({ type: 'summary_text', text: each })),
          encrypted_content: secret,
        },
      });
    },
    text: (piece) => {
      if (open === null) {
        open = { id: `msg_${randomBytes(8).toString('hex')}`, text: '' };
        send('response.output_item.added', {
          output_index: index,
          item: { id: open.id, type: 'message', role: 'assistant', status: 'in_progress', content: [] },
        });
      }
      open.text += piece;
      send('response.output_text.delta', {
        item_id: open.id,
        output_index: index,
        content_index: 0,
        delta: piece,
      });
    },
    call: (name, args) => {
      close();
      const itemId = `fc_${randomBytes(8).toString('hex')}`;
      const call = {
        id: itemId,
        type: 'function_call',
        call_id: `call_${randomBytes(8).toString('hex')}`,
        name,
      };
      const text = JSON.stringify(args);
      send('response.output_item.added', {
        output_index: index,
        item: { ...call, arguments: '', status: 'in_progress' },
      });
      send('response.function_call_arguments.delta', { item_id: itemId, output_index: index, delta: text });
      send('response.function_call_arguments.done', {
        item_id: itemId,
        output_index: index,
        arguments: text,
      });
      send('response.output_item.done', {
        output_index: index++,
        item: { ...call, arguments: text, status: 'completed' },
      });
    },
    fail: () => {
      const error = { code: 'server_error', message: 'The model failed.' };
      send('response.failed', { response: { ...base, status: 'failed', error } });
      run.ended = true;
    },
    end: (_reason, { input, output, reasoning }) => {
      close();
      send('response.completed', {
        response: {
          ...base,
          status: 'completed',
          usage: {
            input_tokens: input,
            input_tokens_details: { cached_tokens: 40 },
            output_tokens: output,
            output_tokens_details: { reasoning_tokens: reasoning },
            total_tokens: input + output,
          },
        },
      });
      run.ended = true;
    },
  };
}
