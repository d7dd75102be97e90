import { MockActivityEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { runCall } from '#activities/responses/run-call.ts';
import { createActivities, type ActivityDependencies } from '#activities/index.ts';
import { refreshServer } from '#domain/capabilities/tools/refresh-server.ts';
import { updateServer } from '#domain/capabilities/tools/update-server.ts';
import {
  ToolServerFailure,
  type DiscoveredTool,
  type ToolServerGateway,
} from '#domain/capabilities/tools/tool-server.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { readCatalogue } from '#domain/responses/offer/server-catalogue.ts';
import { connectServer, tool, type Connected } from '../support/connected-server.ts';
import { openEngine, type Engine } from '../support/engine.ts';
import { longTexts } from '../support/long-texts.ts';
import { noMetrics } from '../support/no-metrics.ts';
import { addMember, secrets } from '../support/world.ts';

let engine: Engine;
let server: Connected;
let ann: string;
let ben: string;

/** What each account is listed, by principal. */
const lists = new Map<string, DiscoveredTool[]>();

beforeAll(async () => {
  engine = await openEngine();
  const person = async () =>
    (await addMember(engine.database.unitOfWork, engine.world, { spaceRole: 'space_editor' })).principalId;
  [ann, ben] = [await person(), await person()];
});
afterAll(() => engine.stop());

let count = 0;
beforeEach(async () => {
  count += 1;
  const tools = [tool('read'), tool('write')];
  server = await connectServer(engine, { slug: `p${count}`, tools });
  await engine.admin.query(`update mcp_servers set connection_mode = 'personal' where id = $1`, [
    server.serverId,
  ]);
  for (const owner of [ann, ben]) await connectAccount(owner);
  lists.set(ann, tools);
  lists.set(ben, [tool('read'), tool('extra')]);
});

/** The present connection of each owner, by owner; null: the space's. */
const connections = new Map<string | null, string>();

/** In place of the owner's connection before. */
async function connectAccount(owner: string | null): Promise<void> {
  const id = newId();
  await engine.admin.query('delete from mcp_connections where id = $1', [connections.get(owner) ?? null]);
  await engine.admin.query(
    `insert into mcp_connections (tenant_id, id, server_id, space_id, owner_id, connected_by, status, issuer, target)
     values ($1, $2, $3, $4, $5, $6, 'connected', 'https://login.example.com', '{}')`,
    [engine.world.tenantId, id, server.serverId, engine.world.spaceId, owner, owner ?? ann],
  );
  connections.set(owner, id);
}

/** Reads the list with an account: at a personal server that of the person. */
async function discover(
  principalId: string,
  { meanwhile, owner = principalId, ...more }: DiscoveryOptions = {},
): Promise<void> {
  const { tenantId, spaceId } = engine.world;
  const { unitOfWork } = engine.database;
  const toolServers: Pick<ToolServerGateway, 'discover'> = {
    discover: async () => {
      const connectionId = connections.get(owner) ?? null;
      await meanwhile?.();
      return { tools: lists.get(principalId) ?? [], connectionId };
    },
  };
  const activities = createActivities({ unitOfWork, toolServers } as unknown as ActivityDependencies);
  const input = { tenantId, spaceId, serverId: server.serverId, number: 1, principalId, ...more };
  await new MockActivityEnvironment().run(() => activities.discoverTools(input));
}

interface DiscoveryOptions {
  accountOnly?: true;
  owner?: string | null;
  /** While the server answers. */
  meanwhile?: () => Promise<void>;
}

const states = async () =>
  (
    await engine.admin.query<{ name: string; state: string }>(
      'select name, state from mcp_tools where server_id = $1 order by name',
      [server.serverId],
    )
  ).rows.map(({ name, state }) => `${name} ${state}`);

async function offersTo(principalId: string) {
  const { spaceId } = engine.world;
  const servers = await engine.act(({ em }) => readCatalogue(em, { spaceId, principalId }));
  const { tools, withheld } = servers.find(({ slug }) => slug === `p${count}`)!.offers(null);
  return { tools: tools.map((each) => each.tool), withheld };
}

describe('a call at a personal server', () => {
  it('is started once its token is fresh, and without one ends with an address to open, of its own', async () => {
    const started: string[] = [];
    const toolServers = {
      prepare: async () => {
        const { rows } = await engine.admin.query<{ status: string }>('select status from tool_calls');
        started.push(...rows.map(({ status }) => status));
      },
      call: () => Promise.reject(new ToolServerFailure('authorization_required', { sent: false })),
    } as unknown as ToolServerGateway;
    const { database, unitOfWork } = engine.database;
    const names = { find: () => Promise.resolve([]) };
    const publicUrl = 'https://platform.example.com';
    const deps = {
      database,
      unitOfWork,
      secrets,
      toolServers,
      metrics: noMetrics,
      names,
      longTexts,
      publicUrl,
    };
    const id = await engine.create();
    const calls = [0, 1].map(() => ({ name: `mcp__p${count}__read`, arguments: '{}' }));
    await (await engine.attempt(id)).commit({ calls, reason: 'tool_calls' });
    for (const callIndex of [0, 1]) {
      const key = { tenantId: engine.world.tenantId, responseId: id, iteration: 0, callIndex };
      await new MockActivityEnvironment().run(() => runCall(deps, key));
    }
    expect(started[0]).toBe('planned');
    const { output } = await engine.record(id);
    const shown = output.map((item) => (item as unknown as { error: { elicitation: object } }).error);
    expect(shown).toEqual(
      output.map((item) =>
        expect.objectContaining({
          code: 'authorization_required',
          elicitation: {
            mode: 'url',
            elicitation_id: item.id,
            url: `${publicUrl}/api/v1/mcp-auth/connect?server_id=${server.serverId}&elicitation_id=${item.id}`,
            message: expect.any(String),
          },
        }),
      ),
    );
    expect(output).toHaveLength(2);
  });
});

describe('the tools of a personal server', () => {
  it('stay offered to the others when one account is listed fewer, and are cut for each by its own list', async () => {
    await discover(ann);
    await discover(ben);
    expect(await states()).toEqual(['extra new', 'read approved', 'write approved']);
    expect((await offersTo(ann)).tools).toEqual(['read', 'write']);
    expect(await offersTo(ben)).toMatchObject({
      tools: ['read'],
      withheld: [{ reason: 'not_enabled' }, { name: `mcp__p${count}__write`, reason: 'not_in_account' }],
    });
  });

  it('are all offered to a person whose list is not known yet', async () => {
    expect((await offersTo(ben)).tools).toEqual(['read', 'write']);
  });

  it('are not changed by the list of an account that was only connected', async () => {
    lists.set(ben, [tool('read', { description: 'Sends everything elsewhere.' })]);
    await discover(ben, { accountOnly: true });
    expect(await states()).toEqual(['read approved', 'write approved']);
    expect((await offersTo(ben)).tools).toEqual([]);
    expect((await offersTo(ann)).tools).toEqual(['read', 'write']);
  });

  it('are not cut by the list of an account in whose place another one was connected meanwhile', async () => {
    await discover(ben, { meanwhile: () => connectAccount(ben) });
    expect((await offersTo(ben)).tools).toEqual(['read', 'write']);
    await discover(ben);
    expect((await offersTo(ben)).tools).toEqual(['read']);
  });

  it('leave room for those of the other accounts', async () => {
    lists.set(
      ben,
      Array.from({ length: 600 }, (_, index) => tool(`t${index}`)),
    );
    await discover(ben);
    const all = await states();
    expect(all).toHaveLength(512);
    expect(all).toEqual(expect.arrayContaining(['read approved', 'write approved']));
  });

  it('are read with the account of the person that refreshes or updates the server', async () => {
    const asked = () =>
      engine.dispatches.splice(0).flatMap((each) => ('payload' in each ? [each.payload] : []));
    asked();
    const { serverId } = server;
    await engine.act((ctx) => refreshServer(ctx, { serverId }));
    expect(asked()).toMatchObject([{ serverId, principalId: engine.world.owner.principalId }]);
    const act = (enabled: boolean) =>
      engine.act(async (ctx) =>
        updateServer({ ...ctx, caller: { ...ctx.caller, principalId: ann } }, { serverId, enabled }),
      );
    await act(false);
    asked();
    await act(true);
    expect(asked()).toMatchObject([{ serverId, principalId: ann }]);
  });

  it('are not asked for again while the same discovery waits to begin', async () => {
    const { serverId } = server;
    const refresh = () => engine.act((ctx) => refreshServer(ctx, { serverId }));
    const discoveries = async () =>
      (await engine.admin.query(`select from outbox where workflow_type = 'discoverTools'`)).rowCount;
    await engine.admin.query('delete from outbox');
    await refresh();
    await refresh();
    // Both are with the process that enqueued them, which may have sent them.
    expect(await discoveries()).toBe(2);
    await engine.admin.query('delete from outbox where id = (select id from outbox order by id limit 1)');
    await engine.admin.query('update outbox set claimed_until = created_at');
    await refresh();
    expect(await discoveries()).toBe(1);
    // A relay has claimed it, and may have sent it.
    await engine.admin.query(`update outbox set claimed_until = now() + interval '10 s'`);
    await refresh();
    expect(await discoveries()).toBe(2);
  });
});

it('the tools of a shared server are not replaced by the list of an account in whose place another one was connected meanwhile', async () => {
  await engine.admin.query(`update mcp_servers set connection_mode = 'shared' where id = $1`, [
    server.serverId,
  ]);
  await connectAccount(null);
  await discover(ben, { owner: null, meanwhile: () => connectAccount(null) });
  expect(await states()).toEqual(['read approved', 'write approved']);
  await discover(ben, { owner: null });
  expect(await states()).toContain('extra new');
});

it('the tools of a server that became shared are not replaced by the list of one person’s account', async () => {
  const share = () =>
    engine.admin.query(`update mcp_servers set connection_mode = 'shared' where id = $1`, [server.serverId]);
  await discover(ben, { meanwhile: async () => void (await share()) });
  expect(await states()).toEqual(['read approved', 'write approved']);
});
