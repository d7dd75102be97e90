import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openEngine, type Engine } from '../support/engine.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { openResponsesResource, problemsOf } from '../support/open-responses-schema.ts';

let engine: Engine;
let gateway: TestGateway;
let url: string;

beforeAll(async () => {
  engine = await openEngine();
  gateway = await openGateway(engine.database);
  url = await gateway.app.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(async () => {
  await gateway?.close();
  await engine?.stop();
});

const asked = { model: 'paid', input: 'Why tides?', background: true } as const;

type Shown = OpenAI.Responses.Response & {
  platform: { governance_applied: { tools_offered: string[]; tools_withheld: object[] } };
};

const create = async (change: object = {}): Promise<Shown> => {
  const client = new OpenAI({
    baseURL: `${url}/api/v1/spaces/${engine.world.spaceId}/openai`,
    apiKey: engine.world.apiKey,
    maxRetries: 0,
  });
  return (await client.responses.create({ ...asked, ...change })) as unknown as Shown;
};

/** The first request that the model would receive. */
async function prompt({ id }: { id: string }): Promise<{ messages: unknown[]; tools: string[] }> {
  const claim = await engine.claim(id);
  if (claim.kind !== 'claimed') throw new Error('It has begun already.');
  const { messages, settings } = claim.turn;
  return { messages, tools: settings.tools.map(({ name }) => name) };
}

const question = { role: 'user', text: 'Why tides?' };

async function setTools(which: 'asked' | 'granted'): Promise<void> {
  const path = `/v1/spaces/${engine.world.spaceId}`;
  const answer = await gateway.send({
    method: 'PATCH',
    path,
    apiKey: engine.world.apiKey,
    body: { openai_tools: which },
  });
  expect(answer.body.data.openai_tools).toBe(which);
}

describe('a request of an OpenAI client that names no tools', () => {
  it('reaches the model as it is: no prompt, no tool', async () => {
    const response = await create();
    expect(await prompt(response)).toEqual({ messages: [question], tools: [] });
    expect(response).toMatchObject({ tools: [], platform: { governance_applied: { tools_offered: [] } } });
    expect(problemsOf(openResponsesResource, response)).toEqual([]);
  });

  it('is offered what the space grants where the space says so, which is not shown as requested', async () => {
    await setTools('granted');
    try {
      const response = await create();
      expect((await prompt(response)).tools).toEqual(['knowledge_search']);
      expect(response).toMatchObject({
        tools: [],
        platform: { governance_applied: { tools_offered: ['knowledge_search'] } },
      });
    } finally {
      await setTools('asked');
    }
  });

  it('may request the search, which is then shown as requested', async () => {
    const response = await create({ tools: [{ type: 'file_search', vector_store_ids: [] }] });
    const { messages, tools } = await prompt(response);
    expect([messages.length, tools]).toEqual([2, ['knowledge_search']]);
    expect(response.tools).toMatchObject([{ type: 'file_search' }]);
  });

  it('of the builtin model requests its search implicitly', async () => {
    const response = await create({ model: 'builtin' });
    expect((await prompt(response)).tools).toEqual(['knowledge_search']);
    expect(response.tools).toEqual([]);
  });
});

describe('the builtin model', () => {
  it.each([
    { tools: [] },
    { tool_choice: 'none' },
    { tools: [{ type: 'function', name: 'roll', parameters: { type: 'object' }, strict: false }] },
  ])('accepts a request without a search: %j', async (change) => {
    expect((await create({ model: 'builtin', ...change })).status).toBe('queued');
  });

  it('still refuses a forced function call', async () => {
    const tools = [{ type: 'function', name: 'roll', parameters: { type: 'object' }, strict: false }];
    await expect(
      create({ model: 'builtin', tools, tool_choice: { type: 'function', name: 'roll' } }),
    ).rejects.toMatchObject({ status: 400, param: 'tool_choice' });
  });
});

describe('hints of OpenAI’s clients', () => {
  it.each<[string, object]>([
    ['client_metadata', { client_metadata: { session: 'a', nested: { b: 1 } } }],
    ['user', { user: 'someone@example.org' }],
    ['safety_identifier', { safety_identifier: 'hash' }],
    ['prompt_cache_key', { prompt_cache_key: 'key' }],
    ['prompt_cache_options', { prompt_cache_options: { mode: 'explicit' } }],
    ['prompt_cache_retention', { prompt_cache_retention: '24h' }],
    ['truncation', { truncation: 'auto' }],
    ['text.verbosity', { text: { verbosity: 'low' } }],
    ['service_tier', { service_tier: 'flex' }],
    ['reasoning of a model without it', { reasoning: { effort: 'high', summary: 'auto' } }],
    ['whose reasoning is kept', { reasoning: { context: 'all_turns' } }],
    [
      'include of what there is none of',
      {
        include: [
          'reasoning.encrypted_content',
          'web_search_call.action.sources',
          'code_interpreter_call.outputs',
        ],
      },
    ],
    [
      'when a tool is loaded',
      { tools: [{ type: 'function', name: 'a', parameters: null, strict: null, defer_loading: true }] },
    ],
  ])('are accepted and change nothing: %s', async (_name, hint) => {
    const response = await create(hint);
    expect(response.status).toBe('queued');
    expect((await prompt(response)).messages).toEqual([question]);
    expect(problemsOf(openResponsesResource, response)).toEqual([]);
  });

  it('are never stored: they may identify a person', async () => {
    const { id } = await create({
      user: 'canary-user',
      safety_identifier: 'canary-id',
      prompt_cache_key: 'canary-key',
    });
    const { rows } = await engine.admin.query(
      'select to_jsonb(r)::text as row from responses r where id = $1',
      [id],
    );
    expect(rows[0].row).not.toContain('canary');
  });

  it.each([
    { truncation: 'sideways' },
    { service_tier: 'golden' },
    { text: { verbosity: 'loud' } },
    { user: 7 },
    { include: ['message.output_text.logprobs'] },
    { reasoning: { effort: 'boundless' } },
  ])('are refused where they are malformed: %j', async (hint) => {
    await expect(create(hint)).rejects.toMatchObject({ status: 400 });
  });
});

describe('hosted tools that are not supported', () => {
  const hosted = [
    { type: 'web_search', external_web_access: true },
    { type: 'code_interpreter', container: { type: 'auto' } },
    { type: 'image_generation' },
    { type: 'computer_use_preview', display_width: 1, display_height: 1, environment: 'browser' },
    { type: 'local_shell' },
    { type: 'custom', name: 'apply_patch', format: { type: 'grammar', syntax: 'lark', definition: 'x' } },
    { type: 'namespace', name: 'agents', description: 'd', tools: [] },
  ];
  const roll = { type: 'function', name: 'roll', parameters: { type: 'object' }, strict: false };

  it('are left out, and the answer says so', async () => {
    const response = await create({ tools: [...hosted, roll] });
    expect((await prompt(response)).tools).toEqual(['roll']);
    expect(response.tools).toMatchObject([{ type: 'function', name: 'roll' }]);
    expect(response.platform.governance_applied.tools_withheld).toEqual(
      [
        'web_search',
        'code_interpreter',
        'image_generation',
        'computer_use_preview',
        'local_shell',
        'custom/apply_patch',
        'namespace/agents',
      ].map((name) => ({ name, reason: 'not_supported' })),
    );
  });

  it('may be among the allowed tools', async () => {
    const choice = (...tools: object[]) => ({ type: 'allowed_tools', mode: 'auto', tools });
    const [first, second] = await Promise.all([
      create({
        tools: [...hosted, roll],
        tool_choice: choice({ type: 'web_search' }, { type: 'function', name: 'roll' }),
      }),
      create({ tools: hosted, tool_choice: choice({ type: 'web_search' }) }),
    ]);
    expect(first.tool_choice).toMatchObject({ type: 'allowed_tools', tools: [{ name: 'roll' }] });
    expect(second.tool_choice).toBe('none');
  });

  it('are recognised by type: an unknown type is refused', async () => {
    await expect(create({ tools: [{ type: 'functoin', name: 'roll' }] })).rejects.toMatchObject({
      status: 400,
      param: 'tools.0.type',
    });
  });

  it('are refused where one of them must be called', async () => {
    await expect(create({ tools: hosted, tool_choice: { type: 'web_search' } })).rejects.toMatchObject({
      status: 400,
      param: 'tool_choice.type',
    });
  });
});
