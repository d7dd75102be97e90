import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { sendOver, type Answer } from '../support/gateway.ts';
import { startMcpSource, type McpSourceServer } from '../support/sources/mcp-server.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { createWorld, type World } from '../support/world.ts';

let database: TestDatabase;
let stack: Stack;
let world: World;
let server: McpSourceServer;
const gateway = sendOver(() => stack.gateways[0]!);

beforeAll(async () => {
  database = await createTestDatabase();
  server = await startMcpSource({ subscribe: true, listChanged: true });
  await server.put('tides.md', 'High water is at noon.');
  stack = await startStack({ database, env: { EGRESS_ALLOW: server.origin } });
  world = await createWorld(database.unitOfWork);
});
afterAll(async () => {
  await stack?.stop();
  await server?.close();
  await database?.drop();
});

const send = (method: string, path: string, body?: object): Promise<Answer> =>
  gateway.send({
    method,
    path: `/v1/spaces/${world.spaceId}${path}`,
    apiKey: world.apiKey,
    ...(body && { body }),
  });

const found = async (query: string): Promise<string> =>
  JSON.stringify((await send('POST', '/tools/knowledge_search/execute', { query })).body.data ?? null);

describe('a connector of a tool server that reports changes, without a schedule', () => {
  let connector: string;

  it('makes a changed resource searchable within seconds', async () => {
    const { kind, ...value } = server.credential!.value;
    const { origin } = server.credential!;
    const credential = (await send('POST', '/credentials', { name: 'Tides', kind, origin, value })).body.data;
    const collection = (await send('POST', '/collections', { name: 'Harbours' })).body.data.id as string;
    const made = await send('POST', `/collections/${collection}/connectors`, {
      provider_slug: 'mcp',
      scope_config: server.scopeConfig,
      sync_schedule: null,
      credential_id: credential.id,
    });
    expect(made.status, made.text).toBe(201);
    connector = made.body.data.id as string;
    const runs = async (): Promise<{ status: string; metadata: { trigger: string } }[]> =>
      (await send('GET', `/collections/${collection}/connectors/${connector}/sync`)).body.data;
    // The run of its creation, and that of the beginning of the watch.
    await expect
      .poll(async () => (await runs()).map(({ status, metadata }) => `${metadata.trigger} ${status}`), {
        timeout: 30_000,
      })
      .toEqual(['webhook completed', 'initial completed']);
    const actor = stack.temporal.workflow.getHandle(`connector/${world.tenantId}/${connector}`);
    const details = async () =>
      (await actor.query<{ currentDetails: string }>('__temporal_workflow_metadata')).currentDetails;
    await expect
      .poll(details)
      .toBe('Waits for a message: the connector is active. Its source is watched for changes.');
    const { raw } = await actor.describe();
    expect(raw.pendingActivities).toMatchObject([{ activityType: { name: 'watchSource' } }]);

    const changedAt = performance.now();
    await server.put('tides.md', 'High water is at midnight.');
    await expect.poll(() => found('midnight'), { timeout: 30_000, interval: 100 }).toContain('midnight');
    expect(performance.now() - changedAt).toBeLessThan(20_000);
    expect((await runs())[0]).toMatchObject({ metadata: { trigger: 'webhook', mode: 'incremental' } });
  });

  it('finds what changed while a killed worker watched nothing', async () => {
    await stack.workers[0]!.kill();
    await server.put('beacons.md', 'The beacon is blue.');
    await stack.start('worker');
    await expect.poll(() => found('beacon'), { timeout: 90_000, interval: 500 }).toContain('blue');
  });
});
