import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pageSize } from '#activities/notifications/deliver-notifications.ts';
import type { Failpoint } from '#domain/foundation/kernel/failpoint.ts';
import { mulberry32 } from '../support/model-script.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { connect } from '../support/tables.ts';
import { addUsers } from '../support/notification-world.ts';
import { createWorld, type World } from '../support/world.ts';

const seed = Number(process.env['SEED'] ?? 20_261_121);

/** Nine full pages and a part of one. */
const lastPage = 9;

describe('a fan-out', () => {
  let database: TestDatabase;
  let admin: Client;
  let stack: Stack;
  let world: World;
  let users: string[];
  let admins: string[];

  beforeAll(async () => {
    database = await createTestDatabase();
    admin = await connect(database.adminUrl);
    world = await createWorld(database.unitOfWork);
    users = await addUsers(admin, world, { count: 9.6 * pageSize });
    admins = await addUsers(admin, world, { count: 3, role: 'space_admin' });
    stack = await startStack({ database, armable: true });
  });
  afterAll(async () => {
    await stack?.stop();
    await admin?.end();
    await database?.drop();
  });
  const everybody = () => [...users, ...admins].toSorted();

  async function call(method: string, path: string, body?: object): Promise<{ id: string }> {
    const answer = await fetch(`${stack.gateways[0]!.url}/api/v1/spaces/${world.spaceId}${path}`, {
      method,
      headers: { 'X-API-Key': world.apiKey, 'Content-Type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    expect(answer.status).toBeLessThan(300);
    return ((await answer.json()) as { data: { id: string } }).data;
  }

  /** An event of the whole space, recorded with its fan-out as a use case does. @returns its id */
  async function announce(): Promise<string> {
    const { rows } = await admin.query<{ id: string }>(
      `with event as (
         insert into events (tenant_id, id, category, event_type, resource_type, resource_id, metadata)
         values ($1, uuidv7(), 'space', 'space.deleted', 'space', $2, '{"via":"api"}') returning tenant_id, id, event_type),
       unfinished as (
         insert into fan_outs (tenant_id, event_id, event_type) select * from event),
       owed as (
         insert into outbox (tenant_id, id, kind, workflow_type, workflow_id, payload, claimed_until)
         select tenant_id, uuidv7(), 'start', 'fanOutEvent', 'notify/' || tenant_id || '/' || id,
           jsonb_build_object('tenantId', tenant_id, 'eventId', id, 'eventType', event_type), now() from event)
       select id from event`,
      [world.tenantId, world.spaceId],
    );
    return rows[0]!.id;
  }

  const unfinished = async (): Promise<number> =>
    (await admin.query('select from fan_outs where tenant_id = $1', [world.tenantId])).rowCount ?? 0;

  async function settle(): Promise<void> {
    for (let waitedMs = 0; (await unfinished()) > 0; waitedMs += 50) {
      if (waitedMs > 60_000) throw new Error('A fan-out did not reach its last recipient.');
      await sleep(50);
    }
  }

  async function deliveredOf(eventId: string): Promise<string[]> {
    const { rows } = await admin.query<{ user_id: string }>(
      'select user_id from notifications where event_id = $1 order by user_id',
      [eventId],
    );
    return rows.map((row) => row.user_id);
  }

  it('follows a change through the API, and its recipients read it', async () => {
    const collection = await call('POST', '/collections', { name: 'Gone soon' });
    await call('DELETE', `/collections/${collection.id}`);
    await settle();
    const { rows } = await admin.query<{ user_id: string; title: string; event_id: string }>(
      `select user_id, title, event_id from notifications where event_type = 'collection.deleted' order by user_id`,
    );
    expect(rows.map((row) => row.user_id)).toEqual(admins);
    expect(rows[0]!.title).toBe('A collection of the space Space was deleted');
    const handle = stack.temporal.workflow.getHandle(`notify/${world.tenantId}/${rows[0]!.event_id}`);
    expect(await handle.result()).toEqual({
      status: 'completed',
      reason: null,
      delivered: admins.length,
    });
    const run = await handle.describe();
    expect(run).toMatchObject({
      type: 'fanOutEvent',
      taskQueue: 'batch',
      status: { name: 'COMPLETED' },
      searchAttributes: { TenantId: [world.tenantId], SpaceId: [world.spaceId] },
      raw: { workflowExecutionInfo: { priority: { fairnessKey: world.tenantId } } },
    });
  });

  it.each([
    ['notify.before_commit', 0],
    // of two pages that are delivered at once, neither, one, or both are committed
    ['notify.before_commit', 1],
    ['notify.after_commit', 1],
    ['notify.after_commit', 2],
    ['notify.after_commit', lastPage],
  ] as [Failpoint, number][])(
    'whose worker is killed at %s:%i notifies every recipient exactly once',
    async (name, skip) => {
      const [armed] = stack.workers.splice(0);
      await armed!.ready;
      await armed!.arm(name, skip);
      const eventId = await announce();
      expect(await armed!.exited).toBe('SIGKILL');
      expect(await unfinished()).toBe(skip === lastPage ? 0 : 1);
      await stack.launch('worker');
      await settle();
      expect(await deliveredOf(eventId)).toEqual(everybody());
    },
    60_000,
  );

  it(`under random kills of workers and gateways notifies every recipient exactly once (seed ${seed})`, async () => {
    const random = mulberry32(seed);
    await stack.start('worker');
    const events: string[] = [];
    for (let strike = 0; strike < 5; strike += 1) {
      events.push(await announce());
      await sleep(Math.floor(random() * 700));
      const living = stack.workers.filter(({ child }) => child.signalCode === null);
      const victim = living[Math.floor(random() * living.length)]!;
      expect(await victim.kill()).toBe('SIGKILL');
      if (strike % 3 === 1) {
        await stack.gateways.shift()!.kill();
        await stack.launch('gateway');
      }
      await stack.launch('worker');
    }
    await Promise.all([...stack.workers, ...stack.gateways].map(({ ready }) => ready.catch(() => undefined)));
    await settle();
    for (const eventId of events) expect(await deliveredOf(eventId)).toEqual(everybody());
  });
});
