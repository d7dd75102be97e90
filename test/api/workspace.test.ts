import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { builtInRoleId } from '#domain/identity/roles/role-ids.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { createSpace } from '#domain/workspace/spaces/create-space.ts';
import { openAdminWorld, verdict, type AdminWorld } from '../support/admin-world.ts';
import { untilBlocked } from '../support/tables.ts';

let place: AdminWorld;
beforeAll(async () => {
  place = await openAdminWorld();
});
afterAll(() => place?.close());

const own = (method: string, path: string, body?: object) => place.ask(place.owner, method, path, body);
const idsOf = (answer: { body: { data: { id: string }[] } }) => answer.body.data.map(({ id }) => id);

async function aProject(): Promise<string> {
  const made = await own('POST', place.inSpace('/projects'), { name: 'Pier', description: 'Wood.' });
  expect(made.status).toBe(201);
  return made.body.data.id as string;
}

describe('a space', () => {
  it('is created, read, renamed and given models', async () => {
    const made = await own('POST', '/spaces', { name: 'Quay' });
    expect(made.status).toBe(201);
    const { id } = made.body.data;
    expect((await own('PATCH', `/spaces/${id}`, { name: 'Dock' })).body.data.name).toBe('Dock');
    expect((await own('GET', `/spaces/${id}`)).body.data).toMatchObject({ id, name: 'Dock' });
    const models = { models: ['builtin'], default_model: 'builtin' };
    expect((await own('PUT', `/spaces/${id}/models`, models)).body).toEqual({ data: models });
    expect((await own('PUT', `/spaces/${id}/models`, models)).body).toEqual({ data: models });
    expect((await own('GET', `/spaces/${id}/models`)).body).toEqual({ data: models });
    expect(await place.eventsOf(id)).toEqual(['space.created', 'space.updated', 'space.models_updated']);
  });

  it('allows no model when it is new, and what refuses a response names the call and the permission that cure it', async () => {
    const { id } = (await own('POST', '/spaces', { name: 'Quay' })).body.data;
    const ask = (model?: string) =>
      own('POST', `/spaces/${id}/responses`, { input: { text: 'Why tides?' }, ...(model && { model }) });
    const refused = async (model?: string) => {
      const answer = await ask(model);
      const { code, message, param } = answer.body.error;
      expect(param).toBe('model');
      expect(message).toContain(`PUT ${model === undefined ? `/v1/spaces/${id}/models` : ''}`);
      expect(message).toContain('the permission spaces.manage_models');
      return { said: `${answer.status} ${code}`, message };
    };
    const first = await refused();
    expect(first.said).toBe('422 model_required');
    expect(first.message).toContain('GET /v1/admin/models');
    const second = await refused('builtin');
    expect(second.said).toBe('403 model_not_allowed');
    expect(second.message).toContain(`GET /v1/spaces/${id}/models`);
    const listed = await own('GET', '/admin/models');
    const aliases = listed.body.data.map(({ alias }: { alias: string }) => alias);
    expect(aliases).toContain('builtin');
    await own('PUT', `/spaces/${id}/models`, { models: ['builtin'], default_model: 'builtin' });
    expect((await ask()).status).toBe(202);
    expect((await ask('builtin')).status).toBe(202);
  });

  it('is deleted by its administrator, and then unknown with everything in it', async () => {
    const { id } = (await own('POST', '/spaces', { name: 'Quay' })).body.data;
    const { id: collection } = (await own('POST', `/spaces/${id}/collections`, { name: 'Tides' })).body.data;
    const viewer = await place.person({ spaceRole: null });
    await own('POST', `/spaces/${id}/members`, { principal_id: viewer.principalId });
    const refused = await place.ask(viewer, 'DELETE', `/spaces/${id}`);
    expect(verdict(refused)).toBe('403 missing_permission spaces.delete');
    expect(await own('DELETE', `/spaces/${id}`)).toMatchObject({
      status: 200,
      body: { data: { id, deleted: true } },
    });
    for (const [method, path, body] of [
      ['GET', ''],
      ['DELETE', ''],
      ['PATCH', '', { name: 'Dock' }],
      ['GET', '/threads'],
      ['GET', `/collections/${collection}`],
      ['POST', '/collections', { name: 'Late' }],
    ] as const) {
      expect(verdict(await own(method, `/spaces/${id}${path}`, body))).toBe('404 space_not_found');
    }
    expect(idsOf(await own('GET', '/spaces?limit=100'))).not.toContain(id);
    expect(idsOf(await place.ask(viewer, 'GET', '/spaces'))).toEqual([]);
    expect(await place.eventsOf(id)).toContain('space.deleted');
  });

  it('is listed to those whose membership shows it, all to those who read all', async () => {
    const { unitOfWork } = place.database;
    await unitOfWork.inTenant(place.world.tenantId, (em) =>
      createSpace(em, place.world.owner, { name: 'Apart' }),
    );
    const blind = await place.role(['knowledge.search']);
    const stranger = await place.person({ spaceRole: null });
    const blinded = await place.person({ spaceRole: null });
    await own('POST', place.inSpace('/members'), { principal_id: blinded.principalId, role_id: blind });
    const member = await place.person();
    const seen = await Promise.all(
      [stranger, blinded, member].map(async (who) => idsOf(await place.ask(who, 'GET', '/spaces'))),
    );
    expect(seen).toEqual([[], [], [place.world.spaceId]]);
    expect(idsOf(await own('GET', '/spaces?limit=100')).length).toBeGreaterThan(1);
  });
});

describe('a member of a space', () => {
  it('is added as space_member or with another role, changed and removed, with an event for each', async () => {
    const { principalId, apiKey } = await place.person({ spaceRole: null });
    const made = await own('POST', place.inSpace('/members'), { principal_id: principalId });
    expect(made.status).toBe(201);
    expect(made.body.data).toMatchObject({
      principal_id: principalId,
      space_id: place.world.spaceId,
      role: 'space_member',
      role_id: builtInRoleId('space_member'),
    });
    const { id } = made.body.data;
    const again = await own('POST', place.inSpace('/members'), { principal_id: principalId });
    expect(verdict(again)).toBe('409 already_exists');
    const path = place.inSpace(`/members/${id}`);
    const changed = await own('PATCH', path, { role_id: builtInRoleId('space_editor') });
    expect(changed.body.data).toMatchObject({ id, role: 'space_editor' });
    const who = { principalId, apiKey };
    const collection = () => place.ask(who, 'POST', place.inSpace('/collections'), { name: 'Tides' });
    expect((await collection()).status).toBe(201);
    expect((await own('DELETE', path)).body).toEqual({ data: { id, deleted: true } });
    expect(verdict(await collection())).toBe('403 missing_permission collections.create');
    expect(verdict(await own('DELETE', path))).toBe('404 member_not_found');
    const { rows } = await place.admin.query(
      `select event_type from events where metadata ->> 'principal_id' = $1 and category = 'space' order by id`,
      [principalId],
    );
    expect(rows.map((row) => row.event_type)).toEqual([
      'space.member_added',
      'space.member_role_changed',
      'space.member_removed',
    ]);
  });

  it('does not come back by an invite from before it was removed, but by a later one', async () => {
    const email = 'ann@example.com';
    const ann = await place.person({ spaceRole: null, email });
    const invite = async (space = place.world.spaceId): Promise<string> => {
      const body = { email: 'Ann@example.com', role_id: builtInRoleId('space_admin') };
      return (await own('POST', `/spaces/${space}/invites`, body)).body.data.id;
    };
    const accept = (id: string) => place.ask(ann, 'POST', place.inSpace(`/invites/${id}/accept`));
    const remove = async () => {
      const body = { principal_id: ann.principalId, role_id: builtInRoleId('space_viewer') };
      const added = await own('POST', place.inSpace('/members'), body);
      expect((await own('DELETE', place.inSpace(`/members/${added.body.data.id}`))).status).toBe(200);
    };
    const apart = (await own('POST', '/spaces', { name: 'Apart' })).body.data.id as string;
    const [early, elsewhere] = [await invite(), await invite(apart)];
    await remove();
    expect(verdict(await accept(early))).toBe('409 invalid_state');
    expect(await place.eventsOf(early)).toEqual(['space.invite_created', 'space.invite_revoked']);
    expect((await own('GET', `/spaces/${apart}/invites/${elsewhere}`)).body.data.status).toBe('pending');
    const over = await invite();
    await place.admin.query('update invites set expires_at = now() where id = $1', [over]);
    await remove();
    expect(await place.eventsOf(over)).toEqual(['space.invite_created', 'space.invite_expired']);
    expect((await accept(await invite())).body.data.status).toBe('accepted');
    expect((await place.ask(ann, 'GET', place.inSpace('/invites'))).status).toBe(200);
  });

  it('can have a role of the tenant’s own, and is listed newest first in pages', async () => {
    const roleId = await place.role(['collections.read', 'collections.create']);
    const added: string[] = [];
    for (let n = 0; n < 3; n += 1) {
      const { principalId } = await place.person({ spaceRole: null });
      const body = { principal_id: principalId, role_id: roleId };
      added.unshift((await own('POST', place.inSpace('/members'), body)).body.data.id);
    }
    const first = await own('GET', place.inSpace('/members?limit=2'));
    expect(first.body.data.map((row: { role_id: string }) => row.role_id)).toEqual([roleId, roleId]);
    const second = await own('GET', place.inSpace(`/members?limit=1&cursor=${first.body.meta.next_cursor}`));
    expect([...idsOf(first), ...idsOf(second)]).toEqual(added);
  });

  it('is read as in the list, by principals who may see the list', async () => {
    const { principalId, apiKey } = await place.person();
    const row = (await own('GET', place.inSpace('/members?limit=1'))).body.data[0];
    expect(row).toMatchObject({ principal_id: principalId, role: 'space_member' });
    const path = place.inSpace(`/members/${row.id}`);
    expect(await own('GET', path)).toMatchObject({ status: 200, body: { data: row } });
    const blind = await place.restricted({ principalId, apiKey }, ['spaces.read']);
    expect(verdict(await place.ask(blind, 'GET', path))).toBe('403 missing_permission members.read');
    await own('DELETE', path);
    expect(verdict(await own('GET', path))).toBe('404 member_not_found');
  });

  it('gets no more permissions than the caller that adds or changes it has', async () => {
    const adder = await place.role(['members.add', 'collections.read']);
    const small = await place.person({ spaceRole: null });
    await own('POST', place.inSpace('/members'), { principal_id: small.principalId, role_id: adder });
    const { principalId } = await place.person({ spaceRole: null });
    const add = (roleId: string) =>
      place.ask(small, 'POST', place.inSpace('/members'), { principal_id: principalId, role_id: roleId });
    expect(verdict(await add(builtInRoleId('space_admin')))).toMatch('403 missing_permission');
    expect(verdict(await add(builtInRoleId('owner')))).toBe('422 invalid_request');
    const reader = await place.role(['collections.read']);
    const made = await add(reader);
    expect(made.status).toBe(201);
    const path = place.inSpace(`/members/${made.body.data.id}`);
    const raised = await place.ask(small, 'PATCH', path, { role_id: builtInRoleId('space_editor') });
    expect(verdict(raised)).toMatch('403 missing_permission');
  });

  it('loses no role that holds more than the caller that changes or removes it has', async () => {
    const keeper = await place.role(['members.add', 'members.remove', 'collections.read']);
    const small = await place.person({ spaceRole: null });
    await own('POST', place.inSpace('/members'), { principal_id: small.principalId, role_id: keeper });
    const reader = await place.role(['collections.read']);
    const member = async (roleId: string) => {
      const { principalId } = await place.person({ spaceRole: null });
      const body = { principal_id: principalId, role_id: roleId };
      return place.inSpace(`/members/${(await own('POST', place.inSpace('/members'), body)).body.data.id}`);
    };
    const [admin, other] = [await member(builtInRoleId('space_admin')), await member(reader)];
    const lower = await place.ask(small, 'PATCH', admin, { role_id: reader });
    expect(verdict(lower)).toMatch('403 missing_permission');
    expect(verdict(await place.ask(small, 'DELETE', admin))).toMatch('403 missing_permission');
    expect((await place.ask(small, 'PATCH', other, { role_id: keeper })).status).toBe(200);
    // Removing a member also removes its project roles, so those count.
    const project = await aProject();
    const inIt = place.inSpace(`/projects/${project}/members`);
    const { principal_id: principalId } = (await own('PATCH', other, { role_id: reader })).body.data;
    const body = { principal_id: principalId, role_id: builtInRoleId('project_admin') };
    const asAdmin = await own('POST', inIt, body);
    expect(verdict(await place.ask(small, 'DELETE', other))).toMatch('403 missing_permission');
    await own('DELETE', `${inIt}/${asAdmin.body.data.id}`);
    // Also a role that is being assigned concurrently.
    await own('POST', inIt, { ...body, role_id: reader });
    for (const given of ['project_members', 'space_members']) {
      const { rows } = await place.admin.query(`select role_key from ${given} where principal_id = $1`, [
        principalId,
      ]);
      const update = `update ${given} set role_key = $2 where principal_id = $1`;
      await place.admin.query('begin');
      await place.admin.query(update, [principalId, 'space_admin']);
      const removing = place.ask(small, 'DELETE', other);
      await untilBlocked(place.admin);
      await place.admin.query('commit');
      expect(verdict(await removing)).toMatch('403 missing_permission');
      await place.admin.query(update, [principalId, rows[0].role_key]);
    }
    expect((await place.ask(small, 'DELETE', other)).status).toBe(200);
  });
});

describe('a project', () => {
  it('is created, read, changed, listed and deleted, with an event for each', async () => {
    const id = await aProject();
    const path = place.inSpace(`/projects/${id}`);
    const changed = await own('PATCH', path, { name: 'Jetty', description: null });
    expect(changed.body.data).toMatchObject({ id, name: 'Jetty', description: null });
    expect(Date.parse(changed.body.data.updated_at)).toBeGreaterThan(
      Date.parse(changed.body.data.created_at) - 1,
    );
    expect((await own('GET', path)).body.data).toEqual(changed.body.data);
    expect(idsOf(await own('GET', place.inSpace('/projects')))).toContain(id);
    expect(await own('DELETE', path)).toMatchObject({ status: 200, body: { data: { id, deleted: true } } });
    expect(verdict(await own('GET', path))).toBe('404 project_not_found');
    expect(await place.eventsOf(id)).toEqual([
      'space.project_created',
      'space.project_updated',
      'space.project_deleted',
    ]);
  });

  it('is deleted with its members and their roles, and leaves what was made in it without it', async () => {
    const id = await aProject();
    const editor = await place.person({ spaceRole: 'space_viewer' });
    const body = { principal_id: editor.principalId, role_id: builtInRoleId('project_editor') };
    const path = place.inSpace(`/projects/${id}`);
    await own('POST', `${path}/members`, body);
    const message = { content: 'Hello', project_id: id };
    const begin = () => place.ask(editor, 'POST', place.inSpace('/threads/messages'), message);
    const begun = await begin();
    expect(begun.status).toBe(201);
    const thread = place.inSpace(`/threads/${begun.body.data.thread_id}`);
    const write = () => place.ask(editor, 'POST', `${thread}/messages`, { content: 'Me too' });
    expect((await write()).status).toBe(201);
    expect((await own('GET', thread)).body.data.project_id).toBe(id);
    await own('DELETE', path);
    expect((await own('GET', thread)).body.data.project_id).toBeNull();
    expect(verdict(await own('GET', `${path}/members`))).toBe('404 project_not_found');
    // The role in the project has ended.
    expect(verdict(await write())).toBe('403 missing_permission messages.create');
    expect(verdict(await begin())).toBe('403 missing_permission messages.create');
    const { rows } = await place.admin.query(
      `select (metadata ->> 'members')::int as members from events
       where resource_id = $1 and event_type = 'space.project_deleted'`,
      [id],
    );
    expect(rows).toEqual([{ members: 2 }]);
  });

  it('is administered by the member who made it', async () => {
    const editor = await place.person({ spaceRole: 'space_editor' });
    const made = await place.ask(editor, 'POST', place.inSpace('/projects'), { name: 'Mine' });
    const path = place.inSpace(`/projects/${made.body.data.id}`);
    const members = await place.ask(editor, 'GET', `${path}/members`);
    expect(members.body.data).toMatchObject([{ principal_id: editor.principalId, role: 'project_admin' }]);
    expect((await place.ask(editor, 'DELETE', path)).status).toBe(200);
    const other = await aProject();
    expect(verdict(await place.ask(editor, 'DELETE', place.inSpace(`/projects/${other}`)))).toBe(
      '403 missing_permission projects.delete',
    );
  });
});

describe('a member of a project', () => {
  it('is added, changed by role_id, and removed', async () => {
    const project = await aProject();
    const { principalId } = await place.person();
    const path = place.inSpace(`/projects/${project}/members`);
    const body = { principal_id: principalId, role_id: builtInRoleId('project_viewer') };
    const made = await own('POST', path, body);
    expect(made.status).toBe(201);
    const { id } = made.body.data;
    expect(made.body.data).toMatchObject({
      id,
      project_id: project,
      principal_id: principalId,
      role_id: body.role_id,
    });
    expect(verdict(await own('POST', path, body))).toBe('409 already_exists');
    const changed = await own('PATCH', `${path}/${id}`, { role_id: builtInRoleId('project_admin') });
    expect(changed.body.data).toMatchObject({ id, role: 'project_admin' });
    expect(verdict(await own('PATCH', `${path}/${id}`, { role_id: builtInRoleId('space_admin') }))).toBe(
      '422 invalid_request',
    );
    expect(verdict(await own('PATCH', `${path}/${id}`, { role_id: newId() }))).toBe('404 role_not_found');
    expect((await own('DELETE', `${path}/${id}`)).body).toEqual({ data: { id, deleted: true } });
    expect(verdict(await own('DELETE', `${path}/${id}`))).toBe('404 member_not_found');
    expect((await place.eventsOf(project)).slice(1)).toEqual([
      'space.project_member_added',
      'space.project_role_changed',
      'space.project_member_removed',
    ]);
    const { rows } = await place.admin.query(
      `select distinct metadata->>'space_id' as space from events where resource_id = $1`,
      [project],
    );
    expect(rows, 'whoever is told of them is asked for rights in the space').toEqual([
      { space: place.world.spaceId },
    ]);
  });

  it('is read as in the list, through its own project alone', async () => {
    const [project, other] = [await aProject(), await aProject()];
    const { principalId, apiKey } = await place.person();
    const path = (id: string) => place.inSpace(`/projects/${id}/members`);
    const role = { role_id: builtInRoleId('project_viewer') };
    const made = await own('POST', path(project), { principal_id: principalId, ...role });
    const { id } = made.body.data;
    const one = await own('GET', `${path(project)}/${id}`);
    expect(one).toMatchObject({ status: 200, body: made.body });
    expect((await own('GET', path(project))).body.data).toContainEqual(one.body.data);
    expect(verdict(await own('GET', `${path(other)}/${id}`))).toBe('404 member_not_found');
    expect(verdict(await own('GET', `${path(newId())}/${id}`))).toBe('404 project_not_found');
    const blind = await place.restricted({ principalId, apiKey }, ['projects.read']);
    expect(verdict(await place.ask(blind, 'GET', `${path(project)}/${id}`))).toBe(
      '403 missing_permission project_members.read',
    );
  });

  it('has its role’s permissions in that project only, no more than its key permits, and none after the role is removed', async () => {
    const [first, second] = [await aProject(), await aProject()];
    const member = await place.person();
    const { apiKey: cut } = await place.restricted(member, ['projects.read']);
    const rename = (project: string, apiKey = member.apiKey) =>
      place.ask({ ...member, apiKey }, 'PATCH', place.inSpace(`/projects/${project}`), { name: newId() });
    const refused = '403 missing_permission projects.update';
    expect(verdict(await rename(first))).toBe(refused);
    const path = place.inSpace(`/projects/${first}/members`);
    const added = await own('POST', path, {
      principal_id: member.principalId,
      role_id: builtInRoleId('project_editor'),
    });
    expect((await rename(first)).status).toBe(200);
    expect(verdict(await rename(second))).toBe(refused);
    expect(verdict(await rename(first, cut))).toBe(refused);
    const memberPath = `${path}/${added.body.data.id}`;
    await own('PATCH', memberPath, { role_id: builtInRoleId('project_viewer') });
    expect(verdict(await rename(first))).toBe(refused);
    const custom = await place.role(['projects.update']);
    await own('PATCH', memberPath, { role_id: custom });
    expect((await rename(first)).status).toBe(200);
    await own('PUT', `/admin/roles/${custom}/permissions`, { permissions: [] });
    expect(verdict(await rename(first))).toBe(refused);
    await own('PUT', `/admin/roles/${custom}/permissions`, { permissions: ['projects.update'] });
    await own('DELETE', memberPath);
    expect(verdict(await rename(first))).toBe(refused);
  });

  it('grants its roles as an administrator, but none that holds more', async () => {
    const project = await aProject();
    const [boss, other] = [await place.person(), await place.person()];
    const path = place.inSpace(`/projects/${project}/members`);
    await own('POST', path, { principal_id: boss.principalId, role_id: builtInRoleId('project_admin') });
    const add = (roleId: string) =>
      place.ask(boss, 'POST', path, { principal_id: other.principalId, role_id: roleId });
    const wide = await place.role(['collections.delete']);
    expect(verdict(await add(wide))).toBe('403 missing_permission collections.delete');
    const added = await add(builtInRoleId('project_admin'));
    expect(added.status).toBe(201);
    // Nor removes a role that holds more.
    const memberPath = `${path}/${added.body.data.id}`;
    await own('PATCH', memberPath, { role_id: wide });
    const viewer = { role_id: builtInRoleId('project_viewer') };
    const lower = await place.ask(boss, 'PATCH', memberPath, viewer);
    expect(verdict(lower)).toBe('403 missing_permission collections.delete');
    const away = await place.ask(boss, 'DELETE', memberPath);
    expect(verdict(away)).toBe('403 missing_permission collections.delete');
    await own('PATCH', memberPath, viewer);
    expect((await place.ask(boss, 'DELETE', memberPath)).status).toBe(200);
    // Deleting the project is a separate permission.
    await own('POST', path, { principal_id: other.principalId, role_id: wide });
    const gone = await place.ask(boss, 'DELETE', place.inSpace(`/projects/${project}`));
    expect(gone.status).toBe(200);
  });

  it('is a member of the space, and leaves with it', async () => {
    const project = await aProject();
    const path = place.inSpace(`/projects/${project}/members`);
    const stranger = await place.person({ spaceRole: null });
    const body = { principal_id: stranger.principalId, role_id: builtInRoleId('project_viewer') };
    expect(verdict(await own('POST', path, body))).toBe('409 invalid_state');
    const joined = await own('POST', place.inSpace('/members'), { principal_id: stranger.principalId });
    expect((await own('POST', path, body)).status).toBe(201);
    await own('DELETE', place.inSpace(`/members/${joined.body.data.id}`));
    const left = await own('GET', path);
    expect(left.body.data.map((row: { principal_id: string }) => row.principal_id)).not.toContain(
      stranger.principalId,
    );
  });
});
