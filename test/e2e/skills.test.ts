import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ResponseRecord } from '#domain/responses/record/response-record.ts';
import { startToolServer, type ToolServer } from '../support/tool-servers.ts';
import { openToolWorld, type ToolWorld } from '../support/tool-world.ts';

const call = (name: string) => ({ name, arguments: { item: 'hat' } });
const scripts = [
  { name: 'plain', text: 'Nothing to do.' },
  { name: 'both', text: 'Both asked.', calls: [[call('mcp__alpha__lookup'), call('mcp__beta__lookup')]] },
  { name: 'holds', text: 'Added.', calls: [[call('mcp__alpha__keyed_add')]] },
  { name: 'asks', text: 'Asked.', calls: [[call('mcp__beta__keyed_add')]] },
];

let alpha: ToolServer;
let beta: ToolServer;
let tools: ToolWorld;

beforeAll(async () => {
  [alpha, beta] = await Promise.all([startToolServer(), startToolServer()]);
  tools = await openToolWorld({ scripts, origins: [alpha.origin, beta.origin] });
  for (const [slug, server] of [
    ['alpha', alpha],
    ['beta', beta],
  ] as const) {
    const enabled = { enabled_tools: ['lookup', 'keyed_add'] };
    await tools.update(await tools.register(slug, server.url), enabled);
  }
});
afterAll(async () => {
  await tools?.stop();
  await Promise.all([alpha?.stop(), beta?.stop()]);
});

async function admin(path: string, body?: object): Promise<{ id: string }> {
  const answer = await fetch(`${tools.stack.gateways[0]!.url}/api/v1/admin/skills${path}`, {
    method: 'POST',
    headers: { 'x-api-key': tools.world.apiKey, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  const { data } = (await answer.json()) as { data: { id: string } };
  expect(answer.status, JSON.stringify(data)).toBeLessThan(300);
  return data;
}

let made = 0;
const create = async () => (await admin('', { name: `Skill ${(made += 1)}` })).id;
async function publish(
  skill: string,
  allowedTools: string[],
  instructions = 'Mind the hats.',
): Promise<string> {
  const body = { instructions, allowed_tools: allowedTools };
  const { id } = await admin(`/${skill}/versions`, body);
  await admin(`/${skill}/versions/${id}/publish`);
  return id;
}
async function skillOf(...allowedTools: string[]): Promise<string> {
  const skill = await create();
  await publish(skill, allowedTools);
  return skill;
}
const applied = (record: ResponseRecord) => record.platform.governance_applied;
const offered = async (skill: string | null, more: object = {}) =>
  applied(await tools.ask('plain', { platform: { skill_id: skill }, ...more })).tools_offered;

describe('a response with a skill', () => {
  it('is offered only the servers and tools that the skill names, knowledge always', async () => {
    expect(await offered(null)).toEqual([
      'knowledge_search',
      'mcp__alpha__keyed_add',
      'mcp__alpha__lookup',
      'mcp__beta__keyed_add',
      'mcp__beta__lookup',
    ]);
    expect(await offered(await skillOf())).toEqual(['knowledge_search']);
    expect(await offered(await skillOf('mcp__alpha__*'))).toEqual([
      'knowledge_search',
      'mcp__alpha__keyed_add',
      'mcp__alpha__lookup',
    ]);
    const exact = await skillOf('mcp__beta__lookup', 'knowledge_search');
    expect(await offered(exact)).toEqual(['knowledge_search', 'mcp__beta__lookup']);
    const received = tools.models.requests.at(-1)!.body!;
    expect(received.tools!.map((tool) => tool.function.name)).toEqual([
      'knowledge_search',
      'mcp__beta__lookup',
    ]);
    expect(received.messages[0]).toEqual({ role: 'system', content: 'Mind the hats.' });
    const record = await tools.ask('plain', { platform: { skill_id: exact } });
    expect(applied(record).tools_withheld).toEqual([
      { name: 'mcp__alpha__*', reason: 'not_in_skill' },
      { name: 'mcp__beta__keyed_add', reason: 'not_in_skill' },
    ]);
  });

  it('may request less, and nothing that the skill does not name', async () => {
    const skill = await skillOf('mcp__alpha__lookup');
    expect(await offered(skill, { tools: ['mcp__alpha__*'] })).toEqual(['mcp__alpha__lookup']);
    for (const asked of [
      'mcp__alpha__keyed_add',
      'mcp__beta__lookup',
      'mcp__beta__*',
      { type: 'mcp', server_label: 'beta' },
    ]) {
      const refused = await tools.client.create({
        input: { text: 'Do it.' },
        model: 'plain',
        tools: [asked],
        platform: { skill_id: skill },
      });
      expect([refused.status, refused.error?.code], JSON.stringify(asked)).toEqual([403, 'tool_not_granted']);
    }
  });

  it('makes no call that the skill does not name, though the model requests it', async () => {
    const before = beta.arrivals().length;
    const skill = await skillOf('mcp__alpha__*');
    const { output } = await tools.ask('both', { platform: { skill_id: skill } });
    expect(output).toMatchObject([
      { type: 'mcp_call', name: 'lookup', status: 'completed', output: 'hat is in the box' },
      { type: 'mcp_call', status: 'failed', error: { message: 'This tool was not offered.' } },
      { type: 'message' },
    ]);
    expect(beta.arrivals()).toHaveLength(before);
  });

  it('keeps its version when another is published and its own deprecated while it runs', async () => {
    const skill = await create();
    const first = await publish(skill, ['mcp__alpha__*'], 'The first words.');
    await alpha.control({ hold: 'before_effect' });
    const begun = await tools.client.create({
      input: { text: 'Do it.' },
      model: 'holds',
      platform: { skill_id: skill },
    });
    await alpha.held();
    const second = await publish(skill, [], 'The second words.');
    await admin(`/${skill}/versions/${first}/deprecate`);
    await alpha.control({ hold: null });
    const record = await tools.client.ended(begun.data.id);
    expect(record).toMatchObject({ status: 'completed', output: [{ output: 'added hat' }, {}] });
    expect(applied(record).skill).toEqual({ id: skill, version_id: first, version: 1 });
    const turns = tools.models.requests.slice(-2).map(({ body }) => body!);
    expect(turns.map(({ messages }) => messages[0]!.content)).toEqual([
      'The first words.',
      'The first words.',
    ]);
    const next = applied(await tools.ask('plain', { platform: { skill_id: skill } }));
    expect(next.skill).toMatchObject({ version_id: second, version: 2 });
    expect(next.tools_offered).toEqual(['knowledge_search']);
  });

  it('makes no call whose approval was requested without the skill, once it continues under a skill that does not name it', async () => {
    const wide = await tools.ask('asks', {
      tools: [{ type: 'mcp', server_label: 'beta', require_approval: 'always' }],
    });
    const request = wide.output.find(({ type }) => type === 'mcp_approval_request')!;
    const before = beta.effects().length;
    const approval = { type: 'mcp_approval_response', approval_request_id: request.id, approve: true };
    const { output } = await tools.ask('plain', {
      input: { items: [approval] },
      previous_response_id: wide.id,
      platform: { skill_id: await skillOf('mcp__alpha__*') },
    });
    expect(output[0]).toMatchObject({ type: 'mcp_call', status: 'failed', error: { code: 'tool_withheld' } });
    expect(beta.effects()).toHaveLength(before);
  });

  it('does not pass its skill to the next response of its chain', async () => {
    const first = await tools.ask('plain', { platform: { skill_id: await skillOf() } });
    const next = await tools.ask('plain', { previous_response_id: first.id });
    expect(applied(next)).not.toHaveProperty('skill');
    expect(applied(next).tools_offered).toContain('mcp__alpha__lookup');
    expect(tools.models.requests.at(-1)!.body!.messages.map(({ content }) => content)).not.toContain(
      'Mind the hats.',
    );
  });
});
