import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { applyDiscovery } from '#domain/capabilities/tools/apply-discovery.ts';
import { tool } from '../support/connected-server.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventTypesOf } from '../support/event-log.ts';
import { openGateway, type Answer, type TestGateway } from '../support/gateway.ts';
import { connect } from '../support/tables.ts';
import { createWorld, type World } from '../support/world.ts';

let database: TestDatabase;
let gateway: TestGateway;
let world: World;
let admin: Client;

beforeAll(async () => {
  database = await createTestDatabase();
  admin = await connect(database.adminUrl);
  gateway = await openGateway(database);
  world = await createWorld(database.unitOfWork);
});
afterAll(async () => {
  await gateway?.close();
  await admin?.end();
  await database?.drop();
});

const send = (method: string, path: string, body?: object): Promise<Answer> =>
  gateway.send({
    method,
    path: `/v1/spaces/${world.spaceId}/mcp-servers${path}`,
    apiKey: world.apiKey,
    ...(body && { body }),
  });

let count = 0;
const server = (more: object = {}) => {
  count += 1;
  return { slug: `s${count}`, display_name: 'CRM', url: 'https://crm.example.com/mcp', ...more };
};

async function discovered(names = ['find', 'merge']): Promise<string> {
  const id = (await send('POST', '', server())).body.data.mcp_server_config_id as string;
  await database.unitOfWork.inTenant(world.tenantId, (em) =>
    applyDiscovery(em, id, { tools: names.map((name) => tool(name)) }),
  );
  return id;
}

/** A tool as a person enables it who has reviewed it. */
async function looked(id: string, name: string): Promise<{ name: string; schema_hash: string }> {
  const { discovered_tools: tools } = (await send('GET', `/${id}`)).body.data;
  return (tools as { name: string; schema_hash: string }[])
    .filter((each) => each.name === name)
    .map(({ schema_hash: hash }) => ({ name, schema_hash: hash }))[0]!;
}

describe('a tool server', () => {
  it('is registered with the contract’s record, pending, with nothing enabled, and its first discovery is enqueued', async () => {
    gateway.dispatched.splice(0);
    const made = await send('POST', '', server({ auth: { credential_ref: 'CRM_TOKEN', header: 'X-Token' } }));
    expect(made.status).toBe(201);
    const { data } = made.body;
    expect(Object.keys(data)).toEqual(
      expect.arrayContaining([
        'mcp_server_config_id',
        'slug',
        'display_name',
        'transport_type',
        'status',
        'icon_url',
        'enabled_tools',
        'tool_count',
        'discovered_tools',
        'created_at',
      ]),
    );
    expect(data).toMatchObject({
      transport_type: 'streamable_http',
      status: 'pending',
      enabled_tools: [],
      tool_count: 0,
      discovered_tools: [],
      credential_ref: 'CRM_TOKEN',
    });
    expect(gateway.dispatched).toMatchObject([
      {
        workflowType: 'discoverTools',
        workflowId: `mcp-server/${world.tenantId}/${data.mcp_server_config_id}/1`,
      },
    ]);
  });

  it.each([
    [{ transport_type: 'stdio' }, 'transport_not_allowed', 'transport_type'],
    [{ transport_type: 'sse' }, 'transport_not_allowed', 'transport_type'],
    [{ url: 'file:///etc/passwd' }, 'url_not_allowed', 'url'],
    [{ url: 'https://me:secret@crm.example.com/' }, 'url_not_allowed', 'url'],
    [{ url: 'crm' }, 'url_not_allowed', 'url'],
    [{ slug: 'a_b' }, 'invalid_request', 'slug'],
    [{ icon_url: 'http://crm.example.com/i.png' }, 'invalid_request', 'icon_url'],
    [{ icon_url: 'data:image/png;base64,AA==' }, 'invalid_request', 'icon_url'],
    [{ auth: { credential_ref: 'CRM', header: 'Cookie' } }, 'invalid_request', 'auth.header'],
  ])('is refused with %j', async (more, code, param) => {
    expect(await send('POST', '', server(more))).toMatchObject({
      status: 422,
      body: { error: { code, param } },
    });
  });

  it('has a slug of its own in its space', async () => {
    const body = server();
    await send('POST', '', body);
    expect(await send('POST', '', body)).toMatchObject({
      status: 409,
      body: { error: { code: 'already_exists', param: 'slug' } },
    });
  });

  it('is updated as the contract has it: names, everything, nothing, and unknown names by name', async () => {
    const id = await discovered();
    const states = (answer: Answer) =>
      (answer.body.data.discovered_tools as { name: string; state: string }[]).map(
        ({ name, state }) => `${name} ${state}`,
      );
    const named = await send('PATCH', `/${id}`, { enabled_tools: [await looked(id, 'find')] });
    expect([named.status, named.body.data.enabled_tools, states(named)]).toEqual([
      200,
      ['find'],
      ['find approved', 'merge new'],
    ]);
    expect(states(await send('PATCH', `/${id}`, { enabled_tools: ['*'] }))).toEqual([
      'find approved',
      'merge approved',
    ]);
    expect(states(await send('PATCH', `/${id}`, { enabled_tools: [] }))).toEqual(['find new', 'merge new']);
    const unknown = await send('PATCH', `/${id}`, { enabled_tools: ['find', 'fly'] });
    expect(unknown).toMatchObject({ status: 422, body: { error: { param: 'enabled_tools' } } });
    expect(unknown.body.error.message).toContain('fly');
    expect((await send('PATCH', `/${id}`, { enabled_tools: ['*', 'find'] })).status).toBe(422);
  });

  it('that is set to its present values writes no event', async () => {
    const id = await discovered();
    const settings = {
      display_name: 'Same',
      enabled: true,
      enabled_tools: [await looked(id, 'find'), await looked(id, 'merge')],
      tools: [{ name: 'find', repeatable: true }],
    };
    const first = await send('PATCH', `/${id}`, settings);
    const before = await eventTypesOf(admin, id);
    expect(before).toEqual(expect.arrayContaining(['space.mcp_server_updated', 'space.mcp_tools_updated']));
    expect((await send('PATCH', `/${id}`, settings)).body).toEqual(first.body);
    expect((await send('PATCH', `/${id}`, { enabled_tools: ['merge', 'find'] })).status).toBe(200);
    expect(await eventTypesOf(admin, id)).toEqual(before);
  });

  it('keeps what a person decided about a tool, and ignores the server’s claims about it', async () => {
    const id = await discovered([]);
    await database.unitOfWork.inTenant(world.tenantId, (em) =>
      applyDiscovery(em, id, { tools: [tool('find', { annotations: { idempotentHint: true } })] }),
    );
    const find = (answer: Answer) => answer.body.data.discovered_tools[0];
    expect(find(await send('PATCH', `/${id}`, { enabled_tools: [await looked(id, 'find')] }))).toMatchObject({
      repeatable: false,
      require_approval: false,
      annotations: { idempotentHint: true },
    });
    const tools = [{ name: 'find', repeatable: true, require_approval: true }];
    expect(find(await send('PATCH', `/${id}`, { tools }))).toMatchObject({
      repeatable: true,
      require_approval: true,
    });
    expect((await send('PATCH', `/${id}`, { tools: [{ name: 'fly' }] })).status).toBe(422);
  });

  it('keeps what is decided about it while its tools are read', async () => {
    const id = await discovered();
    const read = (description: string) =>
      database.unitOfWork.inTenant(world.tenantId, (em) =>
        applyDiscovery(em, id, { tools: [tool('find', { description }), tool('merge')] }),
      );
    const tools = [{ name: 'find', repeatable: true }];
    for (let round = 0; round < 8; round += 1) {
      const isOn = round % 2 === 0;
      const body = { tools, enabled_tools: isOn ? ['*'] : [], enabled: isOn };
      const [answer] = await Promise.all([send('PATCH', `/${id}`, body), read(`${round}`)]);
      expect(answer.status, answer.text).toBe(200);
      const now = (await send('GET', `/${id}`)).body.data;
      expect(now.status === 'disabled').toBe(!isOn);
      expect(now.enabled_tools).toEqual(body.enabled_tools);
    }
  });

  it('is read once for five concurrent requests each, and removed once', async () => {
    const id = await discovered();
    const five = (method: string, path: string) =>
      Promise.all(Array.from({ length: 5 }, () => send(method, path)));
    gateway.dispatched.splice(0);
    await five('POST', `/${id}/refresh`);
    expect(new Set(gateway.dispatched.map(({ workflowId }) => workflowId)).size).toBe(5);
    const removed = await five('DELETE', `/${id}`);
    expect(removed.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 404, 404, 404, 404]);
  });

  it('is switched off and on, read again on request, listed and removed', async () => {
    const id = await discovered();
    expect((await send('PATCH', `/${id}`, { enabled: false })).body.data.status).toBe('disabled');
    expect(await send('POST', `/${id}/refresh`)).toMatchObject({
      status: 409,
      body: { error: { code: 'invalid_state' } },
    });
    expect((await send('PATCH', `/${id}`, { enabled: true })).body.data.status).toBe('pending');
    gateway.dispatched.splice(0);
    expect((await send('POST', `/${id}/refresh`)).status).toBe(202);
    expect(gateway.dispatched).toMatchObject([{ workflowId: `mcp-server/${world.tenantId}/${id}/3` }]);
    const page = await send('GET', '?limit=1');
    expect([page.body.data[0].mcp_server_config_id, page.body.meta.has_more]).toEqual([id, true]);
    expect(await send('DELETE', `/${id}`)).toMatchObject({
      status: 200,
      body: { data: { id, deleted: true } },
    });
    expect(await send('GET', `/${id}`)).toMatchObject({
      status: 404,
      body: { error: { code: 'mcp_server_not_found' } },
    });
  });
});
