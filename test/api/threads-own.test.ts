import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { builtInRoleId } from '#domain/identity/roles/role-ids.ts';
import { openAdminWorld, verdict, type AdminWorld, type Person } from '../support/admin-world.ts';

let place: AdminWorld;
beforeAll(async () => {
  place = await openAdminWorld();
});
afterAll(() => place?.close());

const own = (method: string, path: string, body?: object) => place.ask(place.owner, method, path, body);

async function begin(who: Person): Promise<string> {
  const made = await place.ask(who, 'POST', place.inSpace('/threads/messages'), { content: 'How deep?' });
  expect(made.status, made.text).toBe(201);
  return made.body.data.thread_id as string;
}

async function leave({ principalId }: Person): Promise<void> {
  const { rows } = await place.admin.query<{ id: string }>(
    'select id from space_members where principal_id = $1',
    [principalId],
  );
  const removed = await own('DELETE', place.inSpace(`/members/${rows[0]!.id}`));
  expect(removed.status, removed.text).toBe(200);
}

async function comeBack({ principalId }: Person, roleId: string): Promise<void> {
  const added = await own('POST', place.inSpace('/members'), { principal_id: principalId, role_id: roleId });
  expect(added.status, added.text).toBe(201);
}

/** All operations on a thread, its deletion last. */
const calls = (id: string): [string, string, object?][] => [
  ['GET', '/threads'],
  ['GET', `/threads/${id}`],
  ['GET', `/threads/${id}/messages`],
  ['PATCH', `/threads/${id}`, { title: 'Depths' }],
  ['POST', `/threads/${id}/messages`, { content: 'And now?' }],
  ['DELETE', `/threads/${id}`],
];

const tryAll = async (who: Person, id: string) => {
  const answers = [];
  for (const [method, path, body] of calls(id)) {
    answers.push(await place.ask(who, method, place.inSpace(path), body));
  }
  return answers;
};

const refused = [
  'threads.read',
  'threads.read',
  'messages.read',
  'threads.update',
  'messages.create',
  'threads.delete',
].map((permission) => `403 missing_permission ${permission}`);

describe('the creator of a thread', () => {
  it('is refused it once removed from the space, and sees nothing of later messages, until added again', async () => {
    const [ann, colleague] = [await place.person(), await place.person()];
    const id = await begin(ann);
    await leave(ann);
    const said = { content: 'Nine fathoms, behind her back.' };
    const message = await place.ask(colleague, 'POST', place.inSpace(`/threads/${id}/messages`), said);
    expect(message.status).toBe(201);
    const answers = await tryAll(ann, id);
    expect(answers.map(verdict)).toEqual(refused);
    expect(answers.filter(({ text }) => text.includes('fathoms'))).toEqual([]);
    const kept = await place.ask(colleague, 'GET', place.inSpace(`/threads/${id}`));
    expect(kept.body.data).toMatchObject({ title: null, status: 'active', created_by: ann.principalId });
    // The thread is hers again with any role: changing it needs no grant, writing in it does.
    await comeBack(ann, builtInRoleId('space_viewer'));
    const again = await tryAll(ann, id);
    expect(again.map(({ status }) => status)).toEqual([200, 200, 200, 200, 403, 200]);
    expect(again[2]!.text).toContain('fathoms');
  });

  it('has it listed and changed without a grant by a role of the space that permits neither', async () => {
    const ann = await place.person();
    const id = await begin(ann);
    await begin(await place.person());
    await leave(ann);
    await comeBack(ann, await place.role(['spaces.read']));
    const [list, ...others] = await tryAll(ann, id);
    expect(list!.body.data.map((thread: { id: string }) => thread.id)).toEqual([id]);
    expect(others.map(({ status }) => status)).toEqual([200, 200, 200, 403, 200]);
  });

  it('does not bypass its removal with a key restricted to threads', async () => {
    const ann = await place.person();
    const [first, second] = [await begin(ann), await begin(ann)];
    const key = await place.restricted(ann, ['threads.update']);
    const other = await place.restricted(ann, ['collections.read']);
    expect((await place.ask(key, 'PATCH', place.inSpace(`/threads/${first}`), { title: 'A' })).status).toBe(
      200,
    );
    expect((await tryAll(other, second)).map(verdict)).toEqual(refused);
    await leave(ann);
    expect((await tryAll(key, first)).map(verdict)).toEqual(refused);
  });

  it('keeps it without a membership for as long as a role in the tenant lets it write there', async () => {
    await place.role(['messages.create', 'threads.create'], 'writer');
    const writer = await place.person({ spaceRole: null, tenantRoles: ['writer'] });
    const [first, second] = [await begin(writer), await begin(writer)];
    expect((await tryAll(writer, first)).map(({ status }) => status)).toEqual([200, 200, 200, 200, 201, 200]);
    await place.admin.query('delete from role_assignments where principal_id = $1', [writer.principalId]);
    expect((await tryAll(writer, second)).map(verdict)).toEqual(refused);
  });
});
