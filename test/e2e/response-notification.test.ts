import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startModelServer } from '../support/model-server.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { connect } from '../support/tables.ts';
import { addMember, createWorld, scriptedModel, type World } from '../support/world.ts';

let database: TestDatabase;
let admin: Client;
let stack: Stack;
let world: World;
let models: Awaited<ReturnType<typeof startModelServer>>;

beforeAll(async () => {
  models = await startModelServer(
    [
      { name: 'quick', text: 'Twice a day.' },
      { name: 'broken', text: 'Never.', fail: [{ status: 400 }] },
    ],
    {},
  );
  database = await createTestDatabase();
  admin = await connect(database.adminUrl);
  world = await createWorld(database.unitOfWork, [
    scriptedModel(models, 'quick'),
    scriptedModel(models, 'broken'),
  ]);
  stack = await startStack({ database, workers: 2, env: { EGRESS_ALLOW: new URL(models.url).origin } });
});
afterAll(async () => {
  await stack?.stop();
  await models?.stop();
  await admin?.end();
  await database?.drop();
});

it('the requester is notified exactly once of a failure and of a completion with notification, and of nothing else', async () => {
  const requester = await addMember(database.unitOfWork, world);
  await addMember(database.unitOfWork, world, { spaceRole: 'space_admin' });
  const ask = async (model: string, metadata: Record<string, string>) => {
    const answer = await fetch(`${stack.gateways[0]!.url}/api/v1/spaces/${world.spaceId}/responses`, {
      method: 'POST',
      headers: { 'X-API-Key': requester.apiKey, 'Content-Type': 'application/json', Prefer: 'wait=20' },
      body: JSON.stringify({ input: { text: 'How often?' }, model, tools: [], metadata }),
    });
    expect(answer.status, await answer.clone().text()).toBe(200);
    return ((await answer.json()) as { data: { id: string; status: string } }).data;
  };
  const wanted = await ask('quick', { notify: 'true' });
  const failed = await ask('broken', {});
  const silent = await ask('quick', {});
  expect([wanted.status, failed.status, silent.status]).toEqual(['completed', 'failed', 'completed']);
  const events = await admin.query<{ id: string; type: string; resource: string }>(
    `select id, event_type as type, resource_id as resource from events
     where event_type in ('space.response_completed', 'space.response_failed') order by id`,
  );
  expect(events.rows.map(({ type, resource }) => [type, resource])).toEqual([
    ['space.response_completed', wanted.id],
    ['space.response_failed', failed.id],
    ['space.response_completed', silent.id],
  ]);
  const notified = async () =>
    (
      await admin.query<{ event_id: string; user_id: string; resource_id: string }>(
        `select event_id, user_id, resource_id from notifications
         where event_type like 'space.response%' order by event_id`,
      )
    ).rows;
  const due = events.rows
    .slice(0, 2)
    .map(({ id, resource }) => ({ event_id: id, user_id: requester.principalId, resource_id: resource }));
  await expect.poll(notified, { timeout: 20_000 }).toEqual(due);
  await expect
    .poll(async () => (await admin.query('select from fan_outs')).rowCount, { timeout: 20_000 })
    .toBe(0);
  // A round of the sweep later no other notification has arrived.
  await sleep(6_000);
  expect(await notified()).toEqual(due);
  for (const { id } of events.rows) {
    const handle = stack.temporal.workflow.getHandle(`notify/${world.tenantId}/${id}`);
    const state = await handle.describe().then(
      ({ status }) => status.name,
      () => 'never started',
    );
    expect(state).toBe(id === events.rows[2]!.id ? 'never started' : 'COMPLETED');
  }
});
