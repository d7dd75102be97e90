import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { purgeThreads } from '#domain/operations/maintenance/purge-threads.ts';
import { createOrm } from '#domain/operations/schema/orm.ts';
import { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventTypesOf } from '../support/event-log.ts';
import { sweepOnce } from '../support/sweeps.ts';
import { openGateway, type Answer, type TestGateway } from '../support/gateway.ts';
import { connect } from '../support/tables.ts';
import { addMember, createWorld, type World } from '../support/world.ts';

let database: TestDatabase;
let gateway: TestGateway;
let admin: Client;
let world: World;
let other: World;
/** A person who is a member of the space. */
let member: { apiKey: string; principalId: string };

beforeAll(async () => {
  database = await createTestDatabase();
  gateway = await openGateway(database);
  admin = await connect(database.adminUrl);
  world = await createWorld(database.unitOfWork);
  other = await createWorld(database.unitOfWork);
  member = await addMember(database.unitOfWork, world);
});
afterAll(async () => {
  await gateway?.close();
  await admin?.end();
  await database?.drop();
});

function send(
  method: string,
  path: string,
  body?: unknown,
  { apiKey = member.apiKey, headers = {} }: { apiKey?: string; headers?: Record<string, string> } = {},
): Promise<Answer> {
  return gateway.send({
    method,
    path: `/v1/spaces/${world.spaceId}/threads${path}`,
    apiKey,
    headers,
    ...(body === undefined ? {} : { body }),
  });
}

async function start(content = 'Where is the harbour?', more: object = {}, apiKey = member.apiKey) {
  const answer = await send('POST', '/messages', { content, ...more }, { apiKey });
  expect(answer.status).toBe(201);
  return answer.body.data as { id: string; thread_id: string; branch_id: string };
}

const texts = (answer: Answer) => answer.body.data.map((each: { content: string }) => each.content);

const eventsOf = (id: string) => eventTypesOf(admin, id);

describe('a thread', () => {
  it('begins with its first message, and is read, listed, renamed, archived and restored', async () => {
    const first = await start('Hello', { title: 'Tides', metadata: { from: 'test' } });
    const read = await send('GET', `/${first.thread_id}`);
    expect(read.body.data).toMatchObject({
      id: first.thread_id,
      tenant_id: world.tenantId,
      space_id: world.spaceId,
      project_id: null,
      created_by: member.principalId,
      title: 'Tides',
      status: 'active',
      pii_mapping: null,
    });
    const renamed = await send('PATCH', `/${first.thread_id}`, { title: null, status: 'archived' });
    expect(renamed.body.data).toMatchObject({ title: null, status: 'archived' });
    const refused = await send('POST', `/${first.thread_id}/messages`, { content: 'More' });
    expect(`${refused.status} ${refused.body.error.code}`).toBe('409 thread_archived');
    const archived = await send('GET', '?status=archived');
    expect(archived.body.data.map(({ id }: { id: string }) => id)).toContain(first.thread_id);
    await send('PATCH', `/${first.thread_id}`, { status: 'active' });
    expect((await send('POST', `/${first.thread_id}/messages`, { content: 'More' })).status).toBe(201);
    expect(await eventsOf(first.thread_id)).toEqual(['space.thread_created', 'space.thread_archived']);
  });

  it('is unknown once it is deleted, and its messages are gone after the purge', async () => {
    const { thread_id: id } = await start('To be forgotten');
    expect((await send('DELETE', `/${id}`)).body).toEqual({ data: { id, deleted: true } });
    for (const [method, path, body] of [
      ['GET', `/${id}`],
      ['GET', `/${id}/messages`],
      ['DELETE', `/${id}`],
      ['POST', `/${id}/messages`, { content: 'More' }],
    ] as const) {
      const answer = await send(method, path, body);
      expect(`${answer.status} ${answer.body.error.code}`).toBe('404 thread_not_found');
    }
    const orm = createOrm({ url: database.purgeUrl, statementTimeoutMs: 5_000, poolSize: 1 });
    try {
      const deps = { database: database.database, purge: new UnitOfWork(orm) };
      expect(await sweepOnce(purgeThreads, deps)).toMatchObject({ done: 1, failed: 0, next: null });
    } finally {
      await orm.close(true);
    }
    const left = await admin.query(
      'select from threads where id = $1 union all select from messages where thread_id = $1',
      [id],
    );
    expect(left.rowCount).toBe(0);
    expect(await eventsOf(id)).toEqual(['space.thread_created', 'space.thread_deleted']);
  });

  it('of a project is found by it, and outlives it', async () => {
    const path = `/v1/spaces/${world.spaceId}/projects`;
    const { apiKey } = world;
    const made = await gateway.send({ method: 'POST', path, apiKey, body: { name: 'Mole' } });
    const projectId = made.body.data.id as string;
    const { thread_id: id } = await start('Hello', { project_id: projectId });
    const found = await send('GET', `?project_id=${projectId}`);
    expect(found.body.data).toMatchObject([{ id, project_id: projectId }]);
    await gateway.send({ method: 'DELETE', path: `${path}/${projectId}`, apiKey });
    expect((await send('GET', `/${id}`)).body.data.project_id).toBeNull();
  });

  it('of an unknown project is not created', async () => {
    const answer = await send('POST', '/messages', { content: 'Hello', project_id: newId() });
    expect(`${answer.status} ${answer.body.error.code}`).toBe('404 project_not_found');
  });
});

describe('messages', () => {
  it('are added once for any number of requests with the same key', async () => {
    const headers = { 'idempotency-key': `key-${newId()}` };
    const sent = await Promise.all(
      [1, 2, 3].map(() => send('POST', '/messages', { content: 'Once' }, { headers })),
    );
    expect(new Set(sent.map((answer) => answer.status))).toEqual(new Set([201]));
    const ids = new Set(sent.map((answer) => answer.body.data.id));
    expect(ids.size).toBe(1);
    expect(sent.filter((answer) => answer.headers['idempotent-replayed'] === 'true')).toHaveLength(2);
    const [{ thread_id: id }] = sent.map((answer) => answer.body.data) as [{ thread_id: string }];
    const again = { 'idempotency-key': `key-${newId()}` };
    await send('POST', `/${id}/messages`, { content: 'Twice' }, { headers: again });
    await send('POST', `/${id}/messages`, { content: 'Twice' }, { headers: again });
    const other = await send('POST', `/${id}/messages`, { content: 'Else' }, { headers: again });
    expect(`${other.status} ${other.body.error.code}`).toBe('422 idempotency_key_reused');
    expect(texts(await send('GET', `/${id}/messages`))).toEqual(['Once', 'Twice']);
  });

  it('after a message in the middle of a branch begin a branch, which has the earlier messages too', async () => {
    const first = await start('1');
    const at = `/${first.thread_id}/messages`;
    const second = await send('POST', at, { content: '2' });
    await send('POST', at, { content: '3' });
    const fork = await send('POST', at, { content: '3b', parent_message_id: second.body.data.id });
    const branch = fork.body.data.branch_id as string;
    expect(branch).not.toBe(first.branch_id);
    await send('POST', at, { content: '4b', branch_id: branch });
    await send('POST', at, { content: '4' });
    const deep = await send('POST', at, { content: '4c', parent_message_id: fork.body.data.id });
    expect(texts(await send('GET', at))).toEqual(['1', '2', '3', '3b', '4b', '4', '4c']);
    expect(texts(await send('GET', `${at}?branch_id=${branch}`))).toEqual(['1', '2', '3b', '4b']);
    expect(texts(await send('GET', `${at}?branch_id=${first.branch_id}`))).toEqual(['1', '2', '3', '4']);
    expect(texts(await send('GET', `${at}?branch_id=${deep.body.data.branch_id}`))).toEqual([
      '1',
      '2',
      '3b',
      '4c',
    ]);
    const page = await send('GET', `${at}?branch_id=${branch}&limit=3`);
    const rest = await send('GET', `${at}?branch_id=${branch}&limit=3&cursor=${page.body.meta.next_cursor}`);
    expect([...texts(page), ...texts(rest)]).toEqual(['1', '2', '3b', '4b']);
    const late = await send('POST', at, {
      content: 'x',
      branch_id: branch,
      parent_message_id: fork.body.data.id,
    });
    expect(`${late.status} ${late.body.error.code}`).toBe('409 invalid_state');
  });

  it('take no parent and no branch of another thread', async () => {
    const here = await start('here');
    const there = await start('there');
    const at = `/${here.thread_id}/messages`;
    const parent = await send('POST', at, { content: 'x', parent_message_id: there.id });
    expect(`${parent.status} ${parent.body.error.code}`).toBe('404 message_not_found');
    const branch = await send('POST', at, { content: 'x', branch_id: there.branch_id });
    expect(`${branch.status} ${branch.body.error.code}`).toBe('404 branch_not_found');
  });

  it('of many concurrent senders form one sequence', async () => {
    const { thread_id: id } = await start('0');
    for (let round = 0; round < 4; round += 1) {
      const sent = await Promise.all(
        Array.from({ length: 6 }, () => send('POST', `/${id}/messages`, { content: 'x' })),
      );
      expect(new Set(sent.map((answer) => answer.status))).toEqual(new Set([201]));
    }
    const { rows } = await admin.query<{ position: number; parent: number | null }>(
      `select m.position, p.position as parent from messages m
         left join messages p on p.thread_id = m.thread_id and p.id = m.parent_message_id
       where m.thread_id = $1 order by m.position`,
      [id],
    );
    expect(rows).toEqual(
      Array.from({ length: 25 }, (_, position) => ({
        position,
        parent: position === 0 ? null : position - 1,
      })),
    );
  });

  it('have other authors only when a service account that may change threads imports them', async () => {
    const { thread_id: id } = await start('Who speaks?');
    const asPerson = await send('POST', `/${id}/messages`, { content: 'I', role: 'assistant' });
    expect(`${asPerson.status} ${asPerson.body.error.code}`).toBe('422 invalid_request');
    const asService = await send(
      'POST',
      `/${id}/messages`,
      { content: 'An import', role: 'assistant' },
      { apiKey: world.apiKey },
    );
    expect(asService.body.data).toMatchObject({ role: 'assistant', content: 'An import' });
  });
});

describe('the permission to', () => {
  it('see another tenant’s thread is held by nobody', async () => {
    const { thread_id: id } = await start('Ours');
    const unknown = newId();
    const answers = await Promise.all(
      [id, unknown].map((each) =>
        gateway.send({
          method: 'GET',
          path: `/v1/spaces/${other.spaceId}/threads/${each}/messages`,
          apiKey: other.apiKey,
        }),
      ),
    );
    const bodies = answers.map(({ body }) => ({ ...body.error, request_id: '' }));
    expect(bodies[0]).toEqual(bodies[1]);
    expect(bodies[0].code).toBe('thread_not_found');
  });

  it('change a thread without a grant is held by its owner only', async () => {
    const theirs = await start('Theirs');
    const guest = await addMember(database.unitOfWork, world, { spaceRole: 'space_viewer' });
    const asGuest = { apiKey: guest.apiKey };
    const post = await send('POST', `/${theirs.thread_id}/messages`, { content: 'x' }, asGuest);
    expect(post.body.error).toMatchObject({ missing_permission: 'messages.create' });
    const patch = await send('PATCH', `/${theirs.thread_id}`, { status: 'archived' }, asGuest);
    expect(patch.body.error).toMatchObject({ missing_permission: 'threads.update' });
    const remove = await send('DELETE', `/${theirs.thread_id}`, undefined, asGuest);
    expect(remove.body.error).toMatchObject({ missing_permission: 'threads.delete' });
    expect((await send('GET', `/${theirs.thread_id}`, undefined, asGuest)).status).toBe(200);
    const stranger = await addMember(database.unitOfWork, world, { spaceRole: null });
    const asStranger = { apiKey: stranger.apiKey };
    const list = await send('GET', '', undefined, asStranger);
    expect(list.body.error).toMatchObject({ missing_permission: 'threads.read' });
    const read = await send('GET', `/${theirs.thread_id}`, undefined, asStranger);
    expect(read.body.error).toMatchObject({ missing_permission: 'threads.read' });
  });
});
