import type { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { openGateway, type Answer, type TestGateway } from '../support/gateway.ts';
import { connect } from '../support/tables.ts';
import { deliverAll, logEvent } from '../support/notification-world.ts';
import { addMember, createWorld, type World } from '../support/world.ts';

let database: TestDatabase;
let gateway: TestGateway;
let admin: Client;
let world: World;
let user: { principalId: string; apiKey: string };
let other: { principalId: string; apiKey: string };

beforeAll(async () => {
  database = await createTestDatabase();
  gateway = await openGateway(database);
  admin = await connect(database.adminUrl);
});
afterAll(async () => {
  await gateway?.close();
  await admin?.end();
  await database?.drop();
});
beforeEach(async () => {
  world = await createWorld(database.unitOfWork);
  user = await addMember(database.unitOfWork, world);
  other = await addMember(database.unitOfWork, world);
});

const ask = (method: string, path: string, apiKey = user.apiKey): Promise<Answer> =>
  gateway.send({ method, path: `/v1/notifications${path}`, apiKey });
const count = async (apiKey?: string): Promise<number> =>
  (await ask('GET', '/unread-count', apiKey)).body.data.count as number;

/** One event of which `member` is notified. */
async function report(member: { principalId: string }, type = 'security.api_key_created'): Promise<string> {
  const { tenantId, spaceId } = world;
  const eventId = await logEvent(admin, tenantId, {
    type,
    resource: { type: 'space', id: spaceId },
    metadata: { principal_id: member.principalId },
  });
  await deliverAll(database.unitOfWork, tenantId, eventId);
  return eventId;
}

describe('the list', () => {
  it('has the caller’s own, newest first, with the fields of the contract and their event', async () => {
    const first = await report(user);
    const second = await report(user, 'space.member_added');
    await report(other);
    const { body } = await ask('GET', '');
    expect(body.data.map((row: { event_id: string }) => row.event_id)).toEqual([second, first]);
    expect(body.data[0]).toEqual({
      id: expect.any(String),
      event_id: second,
      title: 'You are now a member of the space Space',
      body: null,
      category: 'space',
      resource_type: 'space',
      resource_id: world.spaceId,
      read_at: null,
      created_at: expect.stringMatching(/Z$/),
    });
    expect(body.meta).toEqual({ next_cursor: null, has_more: false });
  });

  it('is read in pages without a gap, 20 at a time by default, also rows with equal times', async () => {
    for (let i = 0; i < 25; i += 1) await report(user);
    await admin.query('update notifications set created_at = now() where tenant_id = $1', [world.tenantId]);
    const whole = (await ask('GET', '?limit=100')).body.data.map(({ id }: { id: string }) => id);
    expect(whole).toHaveLength(25);
    const seen: string[] = [];
    let cursor = '';
    do {
      const { body } = await ask('GET', `?${cursor}`);
      expect(body.data.length).toBeLessThanOrEqual(20);
      seen.push(...body.data.map(({ id }: { id: string }) => id));
      cursor = body.meta.next_cursor === null ? '' : `cursor=${body.meta.next_cursor}`;
    } while (cursor !== '');
    expect(seen).toEqual(whole);
  });

  it('is narrowed by category and to what is unread, and takes no cursor of another filter or user', async () => {
    await report(user);
    await report(user);
    await report(user, 'space.member_added');
    const shown = async (query: string) => (await ask('GET', query)).body.data.length as number;
    expect([await shown('?category=security'), await shown('?category=space')]).toEqual([2, 1]);
    const [newest] = (await ask('GET', '')).body.data;
    await ask('POST', `/${newest.id}/read`);
    expect([await shown('?unread_only=true'), await shown('?unread_only=false')]).toEqual([2, 3]);
    const { next_cursor: cursor } = (await ask('GET', '?limit=1')).body.meta;
    expect((await ask('GET', `?limit=1&unread_only=true&cursor=${cursor}`)).body.error.code).toBe(
      'invalid_cursor',
    );
    expect((await ask('GET', `?limit=1&cursor=${cursor}`, other.apiKey)).body.error.code).toBe(
      'invalid_cursor',
    );
  });

  it.each(['limit=0', 'limit=101', 'category=colour', 'unread_only=yes'])('refuses %s', async (query) => {
    const answer = await ask('GET', `?${query}`);
    expect([answer.status, answer.body.error.code, answer.body.error.param]).toEqual([
      422,
      'invalid_request',
      query.split('=')[0],
    ]);
  });
});

describe('a notification', () => {
  it('is read once: the first time stays', async () => {
    await report(user);
    const [{ id }] = (await ask('GET', '')).body.data;
    const first = await ask('POST', `/${id}/read`);
    expect(first.body).toEqual({ data: { id, read_at: expect.stringMatching(/Z$/) } });
    const again = await ask('POST', `/${id}/read`);
    expect(again.body).toEqual(first.body);
    expect((await ask('GET', `/${id}`)).body.data.read_at).toBe(first.body.data.read_at);
    expect(await count()).toBe(0);
  });

  it('of another user is answered like an unknown one, and stays unread', async () => {
    await report(other);
    const [{ id }] = (await ask('GET', '', other.apiKey)).body.data;
    for (const [method, suffix] of [
      ['GET', ''],
      ['POST', '/read'],
    ] as const) {
      const theirs = await ask(method, `/${id}${suffix}`);
      const unknown = await ask(method, `/${newId()}${suffix}`);
      expect([theirs.status, theirs.body.error.code]).toEqual([404, 'notification_not_found']);
      expect(theirs.body.error.message).toBe(unknown.body.error.message);
    }
    expect(await count(other.apiKey)).toBe(1);
  });
});

describe('the permission', () => {
  it('is held by every member of a space by its built-in role, and is required', async () => {
    const viewer = await addMember(database.unitOfWork, world, { spaceRole: 'space_viewer' });
    const staff = await addMember(database.unitOfWork, world, { spaceRole: null, tenantRoles: ['member'] });
    const nobody = await addMember(database.unitOfWork, world, { spaceRole: null });
    const cut = await addMember(database.unitOfWork, world, { keyPermissions: ['responses.create'] });
    await admin.query(
      `insert into roles (tenant_id, id, key, name, permissions) values ($1, gen_random_uuid(), 'mute', 'Mute', '{spaces.read}')`,
      [world.tenantId],
    );
    const mute = await addMember(database.unitOfWork, world, { spaceRole: 'mute' });
    const statuses = [];
    for (const { apiKey } of [viewer, staff, nobody, cut, mute]) {
      const answer = await ask('GET', '', apiKey);
      statuses.push(answer.status === 403 ? answer.body.error.missing_permission : answer.status);
    }
    const missing = 'notifications.read';
    expect(statuses).toEqual([200, 200, missing, missing, missing]);
  });
});

describe('reading all', () => {
  it('marks all unread rows with one time, and counts them', async () => {
    for (let i = 0; i < 3; i += 1) await report(user);
    await report(other);
    const [newest] = (await ask('GET', '')).body.data;
    const early = (await ask('POST', `/${newest.id}/read`)).body.data.read_at;
    expect((await ask('POST', '/read-all')).body).toEqual({ data: { marked_count: 2 } });
    expect((await ask('POST', '/read-all')).body).toEqual({ data: { marked_count: 0 } });
    const times = (await ask('GET', '')).body.data.map((row: { read_at: string }) => row.read_at);
    expect(times[0]).toBe(early);
    expect(new Set(times.slice(1)).size).toBe(1);
    expect([await count(), await count(other.apiKey)]).toEqual([0, 1]);
  });

  it('leaves unread what arrives meanwhile, even when it is there before the rows are marked', async () => {
    await report(user);
    const late = await connect(database.adminUrl);
    try {
      // A row newer than the time of the request, like a row written while the request was on its way.
      await late.query(
        `update notifications set created_at = now() + interval '1 minute' where user_id = $1`,
        [user.principalId],
      );
      expect((await ask('POST', '/read-all')).body.data.marked_count).toBe(0);
      expect(await count()).toBe(1);
      // A row whose transaction began earlier and committed later was never visible either.
      await late.query('begin');
      await late.query(
        `insert into notifications (tenant_id, event_id, user_id, category, event_type, title)
         values ($1, gen_random_uuid(), $2, 'space', 'space.deleted', 'Late')`,
        [world.tenantId, user.principalId],
      );
      expect((await ask('POST', '/read-all')).body.data.marked_count).toBe(0);
      await late.query('commit');
      expect(await count()).toBe(2);
    } finally {
      await late.end();
    }
  });
});

describe('the count of unread ones', () => {
  it('is exact while events are delivered, read one by one and read all at once, concurrently', async () => {
    let marked = 0;
    const busy = Array.from({ length: 8 }, async (_, worker) => {
      for (let i = 0; i < 12; i += 1) {
        if (worker < 4) {
          await report(user);
        } else if (Math.random() < 0.3) {
          marked += (await ask('POST', '/read-all')).body.data.marked_count as number;
        } else {
          const { data } = (await ask('GET', '?unread_only=true&limit=3')).body;
          for (const { id } of data) expect((await ask('POST', `/${id}/read`)).status).toBe(200);
        }
      }
    });
    await Promise.all(busy);
    const { rows } = await admin.query<{ all: number; unread: number; ids: number }>(
      `select count(*)::int as all, count(*) filter (where read_at is null)::int as unread, count(distinct event_id)::int as ids
         from notifications where user_id = $1`,
      [user.principalId],
    );
    expect(rows[0]).toMatchObject({ all: 48, ids: 48 });
    expect(await count()).toBe(rows[0]!.unread);
    expect(marked).toBeLessThanOrEqual(48);
    const rest = (await ask('POST', '/read-all')).body.data.marked_count as number;
    expect(rest).toBe(rows[0]!.unread);
    expect(await count()).toBe(0);
  });

  it('is read from an index of unread rows only', async () => {
    for (let i = 0; i < 3; i += 1) await report(user);
    await admin.query('set enable_seqscan = off');
    const { rows } = await admin.query<{ 'QUERY PLAN': string }>(
      `explain select count(*) from notifications where tenant_id = '${world.tenantId}' and user_id = '${user.principalId}' and read_at is null`,
    );
    expect(rows.map((row) => row['QUERY PLAN']).join('\n')).toContain('notifications_unread');
    await admin.query('reset enable_seqscan');
  });
});
