import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { builtInRoleId } from '#domain/identity/roles/role-ids.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { openAdminWorld, verdict, type AdminWorld, type Person } from '../support/admin-world.ts';
import type { Answer } from '../support/gateway.ts';
import { callProcedure, errorOf } from '../support/procedures.ts';

let place: AdminWorld;
let project: string;
let elsewhere: string;

beforeAll(async () => {
  place = await openAdminWorld();
});
beforeEach(async () => {
  [project, elsewhere] = [await aProject(), await aProject()];
});
afterAll(() => place?.close());

const own = (method: string, path: string, body?: object) => place.ask(place.owner, method, path, body);
const at = (who: Person, method: string, path: string, body?: object) =>
  place.ask(who, method, place.inSpace(path), body);

async function aProject(): Promise<string> {
  const made = await own('POST', place.inSpace('/projects'), { name: `project-${newId()}` });
  return made.body.data.id as string;
}

/** @returns the path of the membership */
async function join({ principalId }: Person, roleId: string, of = project): Promise<string> {
  const path = place.inSpace(`/projects/${of}/members`);
  const added = await own('POST', path, { principal_id: principalId, role_id: roleId });
  expect(added.status, added.text).toBe(201);
  return `${path}/${added.body.data.id}`;
}

/** A member of the space whose role there is a new one with these permissions. */
async function member(...permissions: string[]): Promise<Person> {
  const key = `role-${newId()}`.replaceAll('-', '_');
  await place.role(permissions, key);
  return place.person({ spaceRole: key });
}

const begun = (who: Person, of: string | null) =>
  at(who, 'POST', '/threads/messages', { content: 'How deep?', project_id: of });

/** A thread of the owner's. */
async function thread(of: string | null = project): Promise<string> {
  const made = await begun(place.owner, of);
  expect(made.status, made.text).toBe(201);
  return made.body.data.thread_id as string;
}

/** All operations on another principal's thread, its deletion last. */
async function tryAll(who: Person, of: string | null): Promise<number[]> {
  const id = await thread(of);
  const answers = [
    await at(who, 'GET', `/threads/${id}`),
    await at(who, 'GET', `/threads/${id}/messages`),
    await at(who, 'POST', `/threads/${id}/messages`, { content: 'And now?' }),
    await at(who, 'PATCH', `/threads/${id}`, { title: 'Depths' }),
    await at(who, 'DELETE', `/threads/${id}`),
  ];
  return answers.map(({ status }) => status);
}

const nothing = [403, 403, 403, 403, 403];
const reading = [200, 200, 403, 403, 403];

describe('a role in a project', () => {
  it.each([
    ['project_viewer', reading],
    ['project_editor', [200, 200, 201, 200, 403]],
    ['project_admin', [200, 200, 201, 200, 200]],
  ])('gives what %s holds in the threads of the project, and in no others', async (role, allowed) => {
    const who = await member('spaces.read');
    await join(who, builtInRoleId(role));
    expect(await tryAll(who, project)).toEqual(allowed);
    expect(await tryAll(who, elsewhere)).toEqual(nothing);
    expect(await tryAll(who, null)).toEqual(nothing);
  });

  it('adds to what the role in the space gives', async () => {
    const [viewer, colleague] = [
      await place.person({ spaceRole: 'space_viewer' }),
      await place.person({ spaceRole: 'space_member' }),
    ];
    await join(viewer, builtInRoleId('project_editor'));
    await join(colleague, builtInRoleId('project_admin'));
    expect(await tryAll(viewer, project)).toEqual([200, 200, 201, 200, 403]);
    expect(await tryAll(viewer, elsewhere)).toEqual(reading);
    expect(await tryAll(colleague, project)).toEqual([200, 200, 201, 200, 200]);
    expect(await tryAll(colleague, elsewhere)).toEqual([200, 200, 201, 200, 403]);
  });

  it('lets the creator of the project delete what others began there', async () => {
    const maker = await place.person({ spaceRole: 'space_editor' });
    const made = await at(maker, 'POST', '/projects', { name: 'Mine' });
    const id = await thread(made.body.data.id as string);
    expect(verdict(await at(maker, 'DELETE', `/threads/${id}`))).toBe('200');
    const other = await at(maker, 'DELETE', `/threads/${await thread()}`);
    expect(verdict(other)).toBe('403 missing_permission threads.delete');
  });

  it('gives no more than the key permits', async () => {
    const who = await member('spaces.read');
    await join(who, builtInRoleId('project_admin'));
    const cut = (...permissions: Parameters<typeof place.restricted>[1]) =>
      place.restricted(who, permissions);
    expect(await tryAll(await cut('collections.read'), project)).toEqual(nothing);
    expect(await tryAll(await cut('messages.read', 'threads.read'), project)).toEqual(reading);
    expect(await tryAll(await cut('messages.create'), project)).toEqual([200, 200, 201, 403, 403]);
    expect(await tryAll(await cut('threads.delete'), project)).toEqual([200, 403, 403, 403, 200]);
  });

  it('is gone with the next request when it is removed, changed or restricted', async () => {
    const who = await member('spaces.read');
    const path = await join(who, builtInRoleId('project_admin'));
    const id = await thread();
    const say = () => at(who, 'POST', `/threads/${id}/messages`, { content: 'Still here?' });
    const refused = '403 missing_permission messages.create';
    expect((await say()).status).toBe(201);
    await own('PATCH', path, { role_id: builtInRoleId('project_viewer') });
    expect(verdict(await say())).toBe(refused);
    const custom = await place.role(['messages.create']);
    await own('PATCH', path, { role_id: custom });
    expect((await say()).status).toBe(201);
    await own('PUT', `/admin/roles/${custom}/permissions`, { permissions: [] });
    expect(verdict(await say())).toBe(refused);
    await own('PUT', `/admin/roles/${custom}/permissions`, { permissions: ['messages.create'] });
    await own('DELETE', path);
    expect(verdict(await say())).toBe(refused);
    expect(await tryAll(who, project)).toEqual(nothing);
  });

  it('does not outlive the project', async () => {
    const who = await member('spaces.read');
    await join(who, builtInRoleId('project_admin'));
    const id = await thread();
    await own('DELETE', place.inSpace(`/projects/${project}`));
    expect(verdict(await at(who, 'GET', `/threads/${id}`))).toBe('403 missing_permission threads.read');
  });

  it('lets a service account import into its threads alone', async () => {
    const made = await own('POST', '/admin/principals', { type: 'service_account', name: 'importer' });
    const principalId = made.body.data.id as string;
    const role_id = await place.role(['messages.create', 'threads.create']);
    await own('POST', place.inSpace('/members'), { principal_id: principalId, role_id });
    const key = await own('POST', '/admin/api-keys', { name: 'import', principal_id: principalId });
    const importer = { principalId, apiKey: key.body.data.api_key as string };
    await join(importer, builtInRoleId('project_editor'));
    const bring = (path: string, more: object = {}) =>
      at(importer, 'POST', path, { content: 'As it was said.', role: 'assistant', ...more });
    const refused = '403 missing_permission threads.update';
    expect((await bring(`/threads/${await thread()}/messages`)).status).toBe(201);
    expect(verdict(await bring(`/threads/${await thread(elsewhere)}/messages`))).toBe(refused);
    expect((await bring('/threads/messages', { project_id: project })).status).toBe(201);
    expect(verdict(await bring('/threads/messages', { project_id: elsewhere }))).toBe(refused);
  });
});

describe('the threads of a project', () => {
  const idsOf = ({ body }: Answer): string[] => body.data.map((row: { id: string }) => row.id);

  it('are all listed to a principal who may read there, elsewhere only its own', async () => {
    const [reader, other] = [await member('spaces.read'), await member('spaces.read')];
    await join(reader, builtInRoleId('project_viewer'));
    const [first, second] = [await thread(), await thread()];
    await thread(elsewhere);
    const list = (who: Person, search: string) => at(who, 'GET', `/threads${search}`);
    expect(idsOf(await list(reader, `?project_id=${project}`))).toEqual([second, first]);
    const page = await list(reader, `?project_id=${project}&limit=1`);
    const next = await list(
      reader,
      `?project_id=${project}&limit=1&cursor=${encodeURIComponent(page.body.meta.next_cursor)}`,
    );
    expect([...idsOf(page), ...idsOf(next)]).toEqual([second, first]);
    expect(idsOf(await list(reader, `?project_id=${elsewhere}`))).toEqual([]);
    expect(idsOf(await list(reader, ''))).toEqual([]);
    expect(idsOf(await list(other, `?project_id=${project}`))).toEqual([]);
    const key = await place.restricted(reader, ['collections.read']);
    expect(verdict(await list(key, `?project_id=${project}`))).toBe('403 missing_permission threads.read');
    expect(verdict(await list(reader, `?project_id=${newId()}`))).toBe('404 project_not_found');
  });

  it('are listed to the typed procedures by the project too', async () => {
    const reader = await member('spaces.read');
    await join(reader, builtInRoleId('project_viewer'));
    const id = await thread();
    await thread(elsewhere);
    const procedure = { path: 'threads.list', type: 'query' as const };
    const of = (input: object) =>
      callProcedure(place.gateway, {
        procedure,
        input: { space_id: place.world.spaceId, ...input },
        apiKey: reader.apiKey,
      });
    const listed = await of({ project_id: project });
    expect(listed.body.result.data.data).toMatchObject([{ id, project_id: project }]);
    expect((await of({})).body.result.data.data).toEqual([]);
  });

  it('are begun by a role there, and by none elsewhere', async () => {
    const who = await member('spaces.read');
    const path = await join(who, builtInRoleId('project_editor'));
    const made = await begun(who, project);
    expect(made.status, made.text).toBe(201);
    const read = await at(who, 'GET', `/threads/${made.body.data.thread_id}`);
    expect(read.body.data).toMatchObject({ project_id: project, created_by: who.principalId });
    const refused = '403 missing_permission messages.create';
    expect(verdict(await begun(who, elsewhere))).toBe(refused);
    expect(verdict(await begun(who, null))).toBe(refused);
    expect(verdict(await begun(who, newId()))).toBe(refused);
    await own('PATCH', path, { role_id: await place.role(['messages.create']) });
    expect(verdict(await begun(who, project))).toBe('403 missing_permission threads.create');
  });

  it('answer a repeat with the same message for as long as the caller may write there', async () => {
    const who = await member('spaces.read');
    const path = await join(who, builtInRoleId('project_editor'));
    const id = await thread();
    const repeat = (to: string, more: object = {}) =>
      place.gateway.send({
        method: 'POST',
        path: `/v1${place.inSpace(to)}`,
        apiKey: who.apiKey,
        headers: { 'idempotency-key': 'once' },
        body: { content: 'Once', ...more },
      });
    const calls = [
      () => repeat('/threads/messages', { project_id: project }),
      () => repeat(`/threads/${id}/messages`),
    ];
    for (const call of calls) {
      const [first, second] = [await call(), await call()];
      expect([first.status, second.status], second.text).toEqual([201, 201]);
      expect(second.body).toEqual(first.body);
    }
    await own('DELETE', path);
    for (const call of calls) {
      expect(verdict(await call())).toBe('403 missing_permission messages.create');
    }
  });
});

describe('an unknown thread', () => {
  it('is answered like a forbidden one to a principal that may write in a project only', async () => {
    const who = await member('spaces.read');
    await join(who, builtInRoleId('project_editor'));
    const gone = await thread();
    await own('DELETE', place.inSpace(`/threads/${gone}`));
    const said = async (id: string) => {
      const answer = await at(who, 'POST', `/threads/${id}/messages`, { content: 'Hello?' });
      return { status: answer.status, error: { ...answer.body.error, request_id: '' } };
    };
    const known = await said(await thread(elsewhere));
    expect(known).toMatchObject({ status: 403, error: { missing_permission: 'messages.create' } });
    for (const id of [newId(), gone, await thread(null)]) {
      expect(await said(id)).toEqual(known);
    }
    const writer = await place.person();
    const unknown = await at(writer, 'POST', `/threads/${newId()}/messages`, { content: 'Hello?' });
    expect(verdict(unknown)).toBe('404 thread_not_found');
  });
});

describe('a response of a project’s thread', () => {
  const ask = (who: Person, threadId: string, more: object = {}) =>
    at(who, 'POST', '/responses', {
      input: { text: 'How deep is it?' },
      platform: { thread_id: threadId, ...more },
    });
  const requester = () => member('spaces.read', 'responses.create');

  it('needs the right to write there, and all other permissions in the space', async () => {
    const [who, editor] = [await requester(), await member('spaces.read')];
    const path = await join(who, builtInRoleId('project_editor'));
    await join(editor, await place.role(['messages.create', 'responses.create']));
    expect((await ask(who, await thread())).status).toBe(202);
    const refused = '403 missing_permission messages.create';
    expect(verdict(await ask(who, await thread(elsewhere)))).toBe(refused);
    expect(verdict(await ask(who, await thread(null)))).toBe(refused);
    expect(verdict(await ask(who, newId()))).toBe(refused);
    expect(verdict(await ask(editor, await thread()))).toBe('403 missing_permission responses.create');
    const key = await place.restricted(who, ['responses.create']);
    expect(verdict(await ask(key, await thread()))).toBe(refused);
    await own('DELETE', path);
    expect(verdict(await ask(who, await thread()))).toBe(refused);
  });

  it('does not replace another user’s response by a permission from the project', async () => {
    const who = await requester();
    await join(who, await place.role(['messages.create', 'responses.cancel', 'responses.read']));
    const id = await thread();
    const theirs = await ask(place.owner, id);
    expect(theirs.status, theirs.text).toBe(202);
    const taken = await ask(who, id, { on_busy: 'cancel_previous' });
    expect(verdict(taken)).toBe('403 missing_permission responses.cancel');
    const read = await at(who, 'GET', `/responses/${theirs.body.data.id}`);
    expect(verdict(read)).toBe('403 missing_permission responses.read');
  });

  it('is restarted by a principal who may still write there', async () => {
    const who = await requester();
    const path = await join(who, builtInRoleId('project_editor'));
    const failed = async () => {
      const made = await ask(who, await thread());
      const id = made.body.data.id as string;
      await place.admin.query(
        `update responses set status = 'failed', finished_at = now(),
           failure = '{"code":"model_error","type":"server_error","message":"It failed.","param":null}' where id = $1`,
        [id],
      );
      return id;
    };
    const restart = (id: string) =>
      callProcedure(place.gateway, {
        procedure: { path: 'responses.restart', type: 'mutation' },
        input: { response_id: id },
        apiKey: who.apiKey,
      });
    const [first, second] = [await failed(), await failed()];
    const again = await restart(first);
    expect(again.status, again.text).toBe(200);
    await own('DELETE', path);
    expect(errorOf(await restart(second))).toMatchObject({
      code: 'missing_permission',
      missing_permission: 'messages.create',
    });
  });
});
