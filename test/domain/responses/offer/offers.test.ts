import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { permissions } from '#domain/foundation/access/permissions.ts';
import { createResponse } from '#domain/responses/accept/create-response.ts';
import type { CreateResponseInput, RequestedTool } from '#domain/responses/record/create-input.ts';
import { newResponseId } from '#domain/foundation/kernel/ids.ts';
import { connectServer, tool, type Connected } from '../../../support/connected-server.ts';
import { openEngine, requestOf, type Engine } from '../../../support/engine.ts';

let engine: Engine;
let crm: Connected;

beforeAll(async () => {
  engine = await openEngine();
  crm = await connectServer(engine, {
    slug: 'crm',
    tools: [tool('find'), tool('merge'), tool('purge'), tool('drift')],
    enabled: ['find', 'merge', 'drift'],
    settings: [{ name: 'merge', requireApproval: true }],
  });
  await crm.discover([tool('find'), tool('merge'), tool('purge'), tool('drift', { description: 'Other.' })]);
});
afterAll(() => engine.stop());

const limits = { maxActivePerSpace: 1_000, retentionSeconds: 60 };

async function settled(input: Partial<CreateResponseInput>, without: string[] = []) {
  const responseId = newResponseId();
  const granted = new Set(permissions.filter((each) => !without.includes(each)));
  await engine.act((ctx) => createResponse(ctx, requestOf(engine.world, input), { responseId, limits }), {
    granted,
  });
  const { rows } = await engine.admin.query<{ request: Request; governance: Governance }>(
    'select request, governance from responses where id = $1',
    [responseId],
  );
  return rows[0]!;
}

interface Request {
  tools: { name: string; require_approval?: boolean }[];
  tool_choice: unknown;
  allowed_tools: string[] | null;
  forced_tools: string[] | null;
  listed_servers: string[];
}
interface Governance {
  tools_offered: string[];
  tools_withheld: object[];
}

const mcp = (more: Partial<Extract<RequestedTool, { type: 'mcp' }>> = {}): RequestedTool => ({
  type: 'mcp',
  serverLabel: 'crm',
  allowedTools: null,
  requireApproval: [],
  ...more,
});
const all: RequestedTool = { type: 'pattern', slug: 'crm', tool: null };
const find: RequestedTool = { type: 'pattern', slug: 'crm', tool: 'mcp__crm__find' };
const client = (name: string): RequestedTool => ({ type: 'function', name, description: '', parameters: {} });

describe('the tools offered to a response', () => {
  it('without a request are all that are enabled and unchanged since their approval', async () => {
    const { governance } = await settled({ tools: null });
    expect(governance.tools_offered).toEqual(['knowledge_search', 'mcp__crm__find', 'mcp__crm__merge']);
    expect(governance.tools_withheld).toEqual([{ name: 'mcp__crm__drift', reason: 'schema_changed' }]);
  });

  it('without tools.execute include no tool of a server, and a request for one is refused with that permission', async () => {
    const { governance } = await settled({ tools: null }, ['tools.execute']);
    expect(governance.tools_offered).toEqual(['knowledge_search']);
    expect(governance.tools_withheld).toEqual([{ name: 'mcp__crm__*', missing_permission: 'tools.execute' }]);
    for (const asked of [all, find, mcp()]) {
      await expect(settled({ tools: [asked] }, ['tools.execute'])).rejects.toMatchObject({
        code: 'missing_permission',
        detail: { missingPermission: 'tools.execute' },
      });
    }
  });

  it('by a pattern are those that it matches; disabled or changed ones are withheld with the reason', async () => {
    const { governance, request } = await settled({ tools: [all, find] });
    expect(governance.tools_offered).toEqual(['mcp__crm__find', 'mcp__crm__merge']);
    expect(governance.tools_withheld).toEqual([
      { name: 'mcp__crm__drift', reason: 'schema_changed' },
      { name: 'mcp__crm__purge', reason: 'not_enabled' },
    ]);
    expect(request.tools.map((each) => each.require_approval)).toEqual([false, true]);
    expect((await settled({ tools: [find] })).governance.tools_offered).toEqual(['mcp__crm__find']);
  });

  it('by type mcp are listed, may be narrowed, and may need more consent than the space requires, never less', async () => {
    const narrow = await settled({
      tools: [mcp({ allowedTools: ['find', 'merge'], requireApproval: ['find'] })],
    });
    expect(narrow.request.tools.map(({ name, require_approval: asks }) => [name, asks])).toEqual([
      ['mcp__crm__find', true],
      ['mcp__crm__merge', true],
    ]);
    expect(narrow.request.listed_servers).toEqual(['crm']);
  });

  it.each([
    ['a tool that is not enabled', { type: 'pattern', slug: 'crm', tool: 'mcp__crm__purge' }],
    ['a tool that nobody knows', { type: 'pattern', slug: 'crm', tool: 'mcp__crm__fly' }],
    ['a server that nobody knows', { type: 'pattern', slug: 'erp', tool: null }],
    ['a label that nobody knows', mcp({ serverLabel: 'erp' })],
  ] as const)('do not include %s', async (_what, asked) => {
    await expect(settled({ tools: [asked as RequestedTool] })).rejects.toMatchObject({
      code: 'tool_not_granted',
    });
  });

  it('have unique names, none imitating a server tool, and number at most 128', async () => {
    for (const tools of [
      [client('a'), client('a')],
      [client('mcp__crm__find')],
      [client('knowledge_search')],
      Array.from({ length: 129 }, (_, i) => client(`tool_${i}`)),
    ]) {
      await expect(settled({ tools })).rejects.toMatchObject({ code: 'invalid_request' });
    }
  });

  it('exclude a tool that can be called as a task only, and name it', async () => {
    await connectServer(engine, {
      slug: 'jobs',
      tools: [tool('start', { requiresTask: true }), tool('state')],
    });
    const { governance } = await settled({ tools: [{ type: 'pattern', slug: 'jobs', tool: null }] });
    expect(governance.tools_offered).toEqual(['mcp__jobs__state']);
    expect(governance.tools_withheld).toEqual([{ name: 'mcp__jobs__start', reason: 'task_required' }]);
  });
});

describe('a tool choice', () => {
  const tools = [all, client('ask_user')];

  it.each([
    [{ type: 'function', name: 'ask_user' }, { name: 'ask_user' }, null, null],
    [{ type: 'mcp', serverLabel: 'crm', name: 'find' }, { name: 'mcp__crm__find' }, null, null],
    [
      { type: 'mcp', serverLabel: 'crm', name: null },
      'required',
      null,
      ['mcp__crm__find', 'mcp__crm__merge'],
    ],
    [
      {
        type: 'allowed_tools',
        mode: 'required',
        tools: [
          { type: 'mcp', serverLabel: 'crm', name: 'find' },
          { type: 'function', name: 'ask_user' },
        ],
      },
      'required',
      ['mcp__crm__find', 'ask_user'],
      null,
    ],
  ] as const)('%j is resolved', async (toolChoice, choice, allowed, forced) => {
    const given = { tools, toolChoice: toolChoice as unknown as CreateResponseInput['toolChoice'] };
    expect((await settled(given)).request).toMatchObject({
      tool_choice: choice,
      allowed_tools: allowed,
      forced_tools: forced,
    });
  });

  it.each([
    { type: 'function', name: 'other' },
    { type: 'mcp', serverLabel: 'erp', name: null },
    { type: 'mcp', serverLabel: 'crm', name: 'drift' },
    { type: 'knowledge_search' },
  ] as const)('of a tool that is not offered is refused: %j', async (toolChoice) => {
    await expect(settled({ tools, toolChoice })).rejects.toMatchObject({ code: 'invalid_request' });
  });
});
