import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ResponseRecord } from '#domain/responses/record/response-record.ts';
import { readOnSurface } from '../support/open-responses-space.ts';
import { recordSegment } from '../support/sse-recorder.ts';
import { checkStream } from '../support/stream-checker.ts';
import type { Json } from '../support/stream-events.ts';
import { startToolServer, type ToolServer } from '../support/tool-servers.ts';
import { openToolWorld, type ToolWorld } from '../support/tool-world.ts';

const call = (name: string, args: object) => ({ name, arguments: args });
const lookup = call('mcp__box__lookup', { item: 'hat' });
const scripts = [
  {
    name: 'mixed',
    text: 'The red hat it is.',
    calls: [[lookup, call('choose', { from: ['red', 'blue'] }), call('knowledge_search', { query: 'hats' })]],
  },
  { name: 'consent', text: 'Added.', calls: [[call('mcp__box__unkeyed_add', { item: 'tie' }), lookup]] },
  { name: 'denied', text: 'Then not.', calls: [[call('mcp__box__unkeyed_add', { item: 'scarf' })]] },
  { name: 'obedient', text: 'Done as told.', calls: [[lookup, call('mcp__box__keyed_add', { item: 'x' })]] },
  { name: 'greedy', text: 'Never said.', calls: [[lookup], [lookup], [lookup]] },
  { name: 'plain', text: 'Nothing to do.' },
];
const choose = {
  type: 'function',
  name: 'choose',
  parameters: { type: 'object', properties: { from: { type: 'array', items: { type: 'string' } } } },
};

let box: ToolServer;
let tools: ToolWorld;

beforeAll(async () => {
  box = await startToolServer();
  tools = await openToolWorld({ scripts, origins: [box.origin] });
  const server = await tools.register('box', box.url);
  await tools.update(server, {
    enabled_tools: ['*'],
    tools: [{ name: 'unkeyed_add', require_approval: true }],
  });
});
afterAll(async () => {
  await tools?.stop();
  await box?.stop();
});

/** Streams a response and checks every invariant of its stream. */
async function streamed(body: object): Promise<{ record: ResponseRecord; types: string[] }> {
  const segment = await recordSegment({
    url: tools.client.url(),
    method: 'POST',
    headers: { ...tools.client.headers, 'content-type': 'application/json' },
    body: { input: { text: 'Do it.' }, stream: true, ...body },
  });
  const text = Buffer.from(segment.bytes).toString();
  const [responseId = ''] = /resp_[a-z2-7]+/.exec(text) ?? [text];
  const record = await tools.client.read(responseId);
  expect(checkStream({ responseId, segments: [segment], final: record as unknown as Json })).toEqual([]);
  return { record, types: [...text.matchAll(/^event: (.*)$/gm)].map(([, type]) => type!) };
}

const lastMessages = () => tools.models.requests.at(-1)!.body!.messages;
const textOf = ({ output }: ResponseRecord) => {
  const last = output.at(-1);
  return last?.type === 'message' ? last.content.map((part) => part.text).join('') : null;
};

describe('a turn with calls of all kinds', () => {
  it('runs those of servers, returns the client’s, and continues with their outputs in the order of the calls', async () => {
    const { record, types } = await streamed({
      model: 'mixed',
      tools: [choose, 'mcp__box__*', 'knowledge_search'],
    });
    expect(record.status).toBe('completed');
    expect(record.output.map(({ type, status }) => `${type} ${status}`)).toEqual([
      'mcp_call completed',
      'function_call completed',
      'file_search_call completed',
    ]);
    expect(types.filter((type) => /mcp_call|function_call/.test(type))).toEqual([
      'response.mcp_call.in_progress',
      'response.mcp_call_arguments.delta',
      'response.mcp_call_arguments.done',
      'response.function_call_arguments.delta',
      'response.function_call_arguments.done',
      'response.mcp_call.completed',
    ]);
    const [, mine] = record.output;
    const callId = mine?.type === 'function_call' ? mine.call_id : '';
    const refused = await tools.client.create({
      model: 'mixed',
      previous_response_id: record.id,
      input: { text: 'And?' },
    });
    expect(refused).toMatchObject({
      status: 422,
      error: { code: 'tool_output_missing', call_ids: [callId] },
    });
    const next = await streamed({
      model: 'mixed',
      previous_response_id: record.id,
      input: { items: [{ type: 'function_call_output', call_id: callId, output: 'red' }] },
      tools: [choose],
    });
    expect([next.record.status, textOf(next.record)]).toEqual(['completed', 'The red hat it is.']);
    const said = lastMessages();
    expect(said.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool', 'tool']);
    expect(said[2]).toMatchObject({ content: 'hat is in the box' });
    expect(said[3]).toMatchObject({ tool_call_id: callId, content: 'red' });
    const items = await tools.client.call<Json[]>(`/${next.record.id}/input_items`);
    expect(items.data.at(-1)).toMatchObject({ type: 'function_call_output', call_id: callId, output: 'red' });
  });

  it('is returned whole with tool_mode manual', async () => {
    const { record } = await streamed({
      model: 'mixed',
      tools: [choose, 'mcp__box__*'],
      tool_mode: 'manual',
    });
    expect(record.output.map((item) => (item.type === 'function_call' ? item.name : item.type))).toEqual([
      'mcp__box__lookup',
      'choose',
      'knowledge_search',
    ]);
  });
});

describe('a call that needs consent', () => {
  it('waits, is made once when it is approved, and the model continues from its result', async () => {
    const { record } = await streamed({ model: 'consent' });
    expect(record.output).toMatchObject([
      { type: 'mcp_approval_request', server_label: 'box', name: 'unkeyed_add', arguments: '{"item":"tie"}' },
      { type: 'mcp_call', name: 'lookup', status: 'completed' },
    ]);
    expect(box.arrivals()).toEqual([]);
    const follow = {
      model: 'consent',
      previous_response_id: record.id,
      input: {
        items: [{ type: 'mcp_approval_response', approval_request_id: record.output[0]!.id, approve: true }],
      },
      platform: { max_iterations: 1 },
    };
    const { record: next } = await streamed(follow);
    expect(next.output).toMatchObject([
      {
        type: 'mcp_call',
        name: 'unkeyed_add',
        approval_request_id: record.output[0]!.id,
        output: 'added tie',
      },
      { type: 'message', status: 'completed' },
    ]);
    expect(lastMessages().map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool', 'tool']);
    expect(lastMessages()[3]).toMatchObject({ content: 'added tie' });
    expect(await tools.client.create(follow)).toMatchObject({
      status: 409,
      error: { code: 'invalid_state' },
    });
    expect(box.effects().map(({ item }) => item)).toEqual(['tie']);
  });

  it('is never made when it is refused', async () => {
    const { record } = await streamed({ model: 'denied' });
    const item = {
      type: 'mcp_approval_response',
      approval_request_id: record.output[0]!.id,
      approve: false,
      reason: 'Too warm.',
    };
    const next = await streamed({
      model: 'denied',
      previous_response_id: record.id,
      input: { items: [item] },
    });
    expect(textOf(next.record)).toBe('Then not.');
    expect(lastMessages().at(-1)).toMatchObject({
      role: 'tool',
      content: 'This call was not approved and was not made. Reason: Too warm.',
    });
    expect(box.arrivals().filter(({ item: of }) => of === 'scarf')).toEqual([]);
  });

  it('may be required by the caller, whose servers are listed first', async () => {
    const { record, types } = await streamed({
      model: 'consent',
      tools: [
        {
          type: 'mcp',
          server_label: 'box',
          allowed_tools: ['lookup', 'unkeyed_add'],
          require_approval: 'always',
        },
      ],
    });
    expect(record.output.map(({ type }) => type)).toEqual([
      'mcp_list_tools',
      'mcp_approval_request',
      'mcp_approval_request',
    ]);
    expect(record.output[0]).toMatchObject({
      server_label: 'box',
      tools: [{ name: 'lookup' }, { name: 'unkeyed_add' }],
    });
    expect(types).toContain('response.mcp_list_tools.completed');
  });
});

describe('a choice of tools', () => {
  it('is enforced on a model that ignores it', async () => {
    const { record } = await streamed({
      model: 'obedient',
      tool_choice: {
        type: 'allowed_tools',
        mode: 'auto',
        tools: [{ type: 'mcp', server_label: 'box', name: 'lookup' }],
      },
    });
    expect(record.output).toMatchObject([
      { type: 'mcp_call', name: 'lookup', status: 'completed' },
      { type: 'mcp_call', name: 'mcp__box__keyed_add', status: 'failed' },
      { type: 'message' },
    ]);
    expect(box.arrivals().filter(({ tool }) => tool === 'keyed_add')).toEqual([]);
  });

  it('binds the first turn only, be it one tool or any of a server', async () => {
    const mark = tools.models.requests.length;
    await streamed({ model: 'obedient', tool_choice: { type: 'mcp', server_label: 'box', name: 'lookup' } });
    await streamed({ model: 'obedient', tool_choice: { type: 'mcp', server_label: 'box' } });
    const asked = tools.models.requests.slice(mark).map(({ body }) => body!);
    expect(asked.map((request) => request.tool_choice)).toEqual([
      { type: 'function', function: { name: 'mcp__box__lookup' } },
      'auto',
      'required',
      'auto',
    ]);
    expect(
      asked.map((request) => request.tools!.some((tool) => tool.function.name === 'knowledge_search')),
    ).toEqual([true, true, false, true]);
  });

  it('none offers the tools and lets the model call none; tool_mode none offers nothing', async () => {
    const mark = tools.models.requests.length;
    await streamed({ model: 'plain', tool_choice: 'none' });
    await streamed({ model: 'plain', tool_mode: 'none' });
    const [first, second] = tools.models.requests.slice(mark).map(({ body }) => body!);
    expect([first!.tool_choice, second!.tools]).toEqual(['none', undefined]);
  });
});

describe('a loop of calls', () => {
  it('ends at the limit of calls', async () => {
    const { record } = await streamed({ model: 'greedy', platform: { max_tool_calls: 2 } });
    expect(record).toMatchObject({
      status: 'incomplete',
      platform: { incomplete_reason: 'max_tool_calls', tool_call_count: 2 },
    });
  });
});

it('all of them are objects and events of Open Responses', async () => {
  const { stack, world } = tools;
  const url = `${stack.gateways[0]!.url}/api/v1/spaces/${world.spaceId}`;
  expect(await readOnSurface({ url, apiKey: world.apiKey })).toEqual({
    items: [
      'file_search_call',
      'function_call',
      'mcp_approval_request',
      'mcp_call',
      'mcp_list_tools',
      'message',
    ],
    problems: [],
  });
});
