import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newResponseId } from '#domain/foundation/kernel/ids.ts';
import { createResponse } from '#domain/responses/accept/create-response.ts';
import type { CreateResponseInput } from '#domain/responses/record/create-input.ts';
import { readCatalogue } from '#domain/responses/offer/server-catalogue.ts';
import type { OfferedTool } from '#domain/responses/record/response-request.ts';
import { answerToolSearches } from '#domain/responses/offer/tool-search.ts';
import { McpTool } from '#domain/capabilities/tools/mcp-tool.entity.ts';
import type { Attempt } from '../../../support/engine.ts';
import { connectServer, tool } from '../../../support/connected-server.ts';
import { openEngine, requestOf, type Engine } from '../../../support/engine.ts';

const many = (count: number, more: (index: number) => object = () => ({})) =>
  Array.from({ length: count }, (_, i) => tool(`t${`${i}`.padStart(3, '0')}`, more(i)));
const heavy = (bytes: number) => ({ inputSchema: { type: 'object', description: 'ab '.repeat(bytes / 3) } });

/** A space with these servers, all their tools enabled. */
async function openSpace(servers: Record<string, ReturnType<typeof many>>): Promise<Engine> {
  const engine = await openEngine();
  for (const [slug, tools] of Object.entries(servers)) {
    await connectServer(engine, { slug, tools, enabled: ['*'] });
  }
  return engine;
}

async function settled(engine: Engine, input: Partial<CreateResponseInput> = {}) {
  const responseId = newResponseId();
  const limits = { maxActivePerSpace: 1_000, retentionSeconds: 60 };
  await engine.act((ctx) => createResponse(ctx, requestOf(engine.world, input), { responseId, limits }));
  const { rows } = await engine.admin.query<{
    request: { tools: OfferedTool[] };
    governance: { tools_withheld: { name: string; reason: string; count?: number }[] };
  }>('select request, governance from responses where id = $1', [responseId]);
  const { request, governance } = rows[0]!;
  const of = (slug: string) => request.tools.filter(({ name }) => name.startsWith(`mcp__${slug}__`)).length;
  return { id: responseId, tools: request.tools, withheld: governance.tools_withheld, of };
}

describe('the space for tools in a request', () => {
  it('is shared by the servers, so that a large one leaves the others their part', async () => {
    const engine = await openSpace({ aaa: many(300), mmm: many(60), zzz: many(5) });
    const { tools, of, withheld } = await settled(engine);
    expect([of('zzz'), of('aaa') + of('mmm') + of('zzz')]).toEqual([5, 95]);
    expect(Math.abs(of('aaa') - of('mmm'))).toBeLessThanOrEqual(1);
    expect(tools.map(({ name }) => name)).toContain('tool_search');
    expect(withheld[0]).toEqual({ name: 'mcp__aaa__*', reason: 'too_many_tools', count: 300 - of('aaa') });
    expect(withheld.length).toBe(1 + 60 - of('mmm'));
    expect((await settled(engine)).tools).toEqual(tools);
    await engine.stop();
  });

  it('is filled without reading the definitions of omitted tools', async () => {
    const engine = await openSpace({ aaa: many(200, () => heavy(900)) });
    const limits = { maxActivePerSpace: 1_000, retentionSeconds: 60 };
    const { tools, read } = await engine.act(async (ctx) => {
      const input = requestOf(engine.world);
      const created = await createResponse(ctx, input, { responseId: newResponseId(), limits });
      const known = [...ctx.em.getUnitOfWork().getIdentityMap()];
      return {
        tools: created.kind === 'created' ? created.request.tools : [],
        read: known.filter((entity) => entity instanceof McpTool).length,
      };
    });
    expect(read).toBe(0);
    const offered = tools.filter((each) => each.type === 'mcp');
    expect(offered.length).toBeGreaterThan(10);
    for (const { parameters } of offered) expect(parameters).toEqual(heavy(900).inputSchema);
    await engine.stop();
  });

  it('is limited in bytes and tokens, too: large definitions displace no other server, and a too large one is not offered', async () => {
    const engine = await openSpace({
      aaa: many(20, () => heavy(18_000)),
      bbb: many(20),
      ccc: [tool('huge', heavy(80_000)), tool('small')],
    });
    const { tools, of, withheld } = await settled(engine);
    expect(Buffer.byteLength(JSON.stringify(tools))).toBeLessThan(200_000);
    expect([of('bbb'), of('ccc')]).toEqual([20, 1]);
    expect(of('aaa')).toBeGreaterThan(0);
    expect(withheld).toContainEqual({ name: 'mcp__ccc__huge', reason: 'definition_too_large' });
    await engine.stop();
  });

  it('is allocated before a definition is read, and only definitions of offered tools are read', async () => {
    const engine = await openSpace({ aaa: many(200, () => heavy(9_000)) });
    const read = await engine.act(async ({ em }) => {
      const [server] = await readCatalogue(em, {
        spaceId: engine.world.spaceId,
        principalId: engine.world.owner.principalId,
      });
      return { offers: server!.offers(null), loaded: em.getUnitOfWork().getIdentityMap().values() };
    });
    expect(read.offers.tools).toHaveLength(200);
    expect(JSON.stringify(read.offers).length).toBeLessThan(100_000);
    expect(read.loaded.filter((entity) => entity instanceof McpTool)).toEqual([]);
    const { tools } = await settled(engine);
    const offered = tools.flatMap((each) => (each.type === 'mcp' ? [each] : []));
    expect(offered.length).toBeGreaterThan(5);
    expect(offered.every(({ parameters }) => JSON.stringify(parameters).length > 9_000)).toBe(true);
    await engine.stop();
  });

  it('is given first to tools that the caller names', async () => {
    const engine = await openSpace({ aaa: many(200) });
    const named = 'mcp__aaa__t199';
    const chosen = await settled(engine, { toolChoice: { type: 'mcp', serverLabel: 'aaa', name: 't199' } });
    const asked = await settled(engine, {
      tools: [
        { type: 'pattern', slug: 'aaa', tool: null },
        { type: 'pattern', slug: 'aaa', tool: named },
      ],
    });
    for (const { tools } of [chosen, asked]) {
      expect(tools.map(({ name }) => name)).toContain(named);
    }
    expect((await settled(engine)).tools.map(({ name }) => name)).not.toContain(named);
    await engine.stop();
  });

  it('stays within the vendors’ limit, for any named tools and any found later', async () => {
    const own = (count: number) =>
      Array.from({ length: count }, (_, i) => ({
        type: 'function' as const,
        name: `own${i}`,
        description: 'Mine.',
        parameters: {},
      }));
    const all = { type: 'pattern' as const, slug: 'aaa', tool: null };
    const named = ['t150', 't151', 't152'].map((name) => ({ ...all, tool: `mcp__aaa__${name}` }));
    const asked = { tools: [...own(110), all, ...named] };
    const { tools } = await settled(shared, asked);
    expect(tools.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['own109', ...named.map(({ tool: name }) => name), 'tool_search']),
    );
    const id = await shared.create(asked);
    await lookFor(await shared.attempt(id), ...topics);
    expect(offeredIn(await shared.attempt(id, 1))).toHaveLength(128);
    const full = await settled(shared, { tools: [...own(127), all] });
    expect(full.tools).toHaveLength(128);
    expect(full.tools.map(({ name }) => name)).not.toContain('tool_search');
  });

  it('in bytes is fully available to tools that the caller names, also where the rest is left to a search', async () => {
    const engine = await openSpace({ aaa: many(60, () => heavy(12_000)) });
    const all = { type: 'pattern' as const, slug: 'aaa', tool: null };
    const named = Array.from({ length: 8 }, (_, i) => `mcp__aaa__t0${40 + i}`);
    const { tools } = await settled(engine, {
      tools: [all, ...named.map((name) => ({ ...all, tool: name }))],
    });
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining([...named, 'tool_search']));
    await engine.stop();
  });

  it.each<[string, Partial<CreateResponseInput>]>([
    ['the client makes the calls', { toolMode: 'manual' }],
    ['nothing may be called', { toolChoice: 'none' }],
    [
      'only named tools may be called',
      {
        toolChoice: {
          type: 'allowed_tools',
          mode: 'auto',
          tools: [{ type: 'mcp', serverLabel: 'aaa', name: 't001' }],
        },
      },
    ],
  ])('is used up where no search is possible: %s', async (_when, input) => {
    const { tools } = await settled(shared, input);
    expect(tools.map(({ name }) => name)).not.toContain('tool_search');
    expect(tools).toHaveLength(128);
  });
});

let shared: Engine;
const topics = ['invoice', 'shipment', 'holiday', 'contract', 'meeting'];

beforeAll(async () => {
  shared = await openSpace({
    aaa: [
      ...many(190, (i) => ({ description: `Handles a ${topics[i % topics.length]}.` })),
      tool('zCancelBooking', { description: 'Frees a room.' }),
      tool('z_purge_archive', { description: 'Empties it.', annotations: { destructiveHint: true } }),
      tool('zz_off', { description: 'Cancel a booking too.' }),
    ],
  });
});
afterAll(() => shared.stop());

/** A turn in which the model searches for tools, as the activity runs it. */
async function lookFor(attempt: Attempt, ...queries: string[]) {
  const asked = queries.map((query) => ({ name: 'tool_search', arguments: JSON.stringify({ query }) }));
  const calls = await shared.database.unitOfWork.inTenant(shared.world.tenantId, (em) =>
    answerToolSearches(em, attempt.turn, asked),
  );
  return attempt.commit({ calls, reason: 'tool_calls' });
}
const offeredIn = (attempt: Attempt) => attempt.turn.settings.tools.map(({ name }) => name);

describe('a search for tools', () => {
  it('returns the tools found, and offers them from the next turn on, whatever happens to the attempt', async () => {
    const id = await shared.create();
    const first = await shared.attempt(id);
    expect(offeredIn(first)).not.toContain('mcp__aaa__zCancelBooking');
    expect(await lookFor(first, 'cancel the booking of a room')).toEqual({ next: 'tools', calls: [] });
    const second = await shared.attempt(id, 1);
    expect(second.turn.messages.at(-1)).toMatchObject({
      role: 'tool',
      name: 'tool_search',
      result: expect.stringContaining('mcp__aaa__zCancelBooking'),
    });
    expect(offeredIn(second)).toContain('mcp__aaa__zCancelBooking');
    expect((await shared.attempt(id, 1)).turn.settings.tools).toEqual(second.turn.settings.tools);
    const { output } = await shared.record(id);
    expect(output).toMatchObject([
      { type: 'mcp_call', status: 'completed', server_label: 'platform', name: 'tool_search', error: null },
    ]);
    const again = await shared.attempt(id, 1);
    const call = { name: 'mcp__aaa__zCancelBooking', arguments: '{}' };
    expect(await again.commit({ calls: [call], reason: 'tool_calls' })).toMatchObject({
      calls: [{ summary: 'tool mcp__aaa__zCancelBooking' }],
    });
  });

  it('finds tools that need consent, which they still need', async () => {
    const id = await shared.create();
    await lookFor(await shared.attempt(id), 'purge');
    const second = await shared.attempt(id, 1);
    const call = { name: 'mcp__aaa__z_purge_archive', arguments: '{}' };
    await second.commit({ calls: [call], reason: 'tool_calls' });
    expect((await shared.record(id)).output.map(({ type }) => type)).toEqual([
      'mcp_call',
      'mcp_approval_request',
    ]);
  });

  it('finds nothing without words, and keeps the offered tools within the vendors’ limit', async () => {
    const id = await shared.create({ maxToolCalls: 256, maxIterations: 20 });
    const first = await shared.attempt(id);
    await lookFor(first, '', '!!! & | :*', ...topics, ...topics.map((topic) => `handles ${topic}`));
    const second = await shared.attempt(id, 1);
    const results = second.turn.messages.filter(({ role }) => role === 'tool');
    expect(results.slice(0, 2)).toMatchObject([{ result: '{"tools":[]}' }, { result: '{"tools":[]}' }]);
    const names = offeredIn(second);
    expect(names.length).toBeGreaterThan(offeredIn(first).length + 20);
    expect(names.length).toBe(128);
    expect(new Set(names).size).toBe(names.length);
  });
});
