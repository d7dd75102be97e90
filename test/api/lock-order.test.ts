import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { builtInRoleId } from '#domain/identity/roles/role-ids.ts';
import { openAdminWorld, signedIn, type AdminWorld, type Person } from '../support/admin-world.ts';
import type { Answer } from '../support/gateway.ts';
import { untilBlocked } from '../support/tables.ts';

let place: AdminWorld;
let count = 0;
beforeAll(async () => {
  place = await openAdminWorld();
});
afterAll(() => place?.close());

const own = (method: string, path: string, body?: object) => place.ask(place.owner, method, path, body);
const invite = async (email: string): Promise<string> =>
  (await own('POST', place.inSpace('/invites'), { email })).body.data.id;
const idOf = async (table: string, { principalId }: Person): Promise<string> =>
  (await place.admin.query(`select id from ${table} where principal_id = $1`, [principalId])).rows[0].id;

/**
 * A project administered by `who`.
 * @returns the path of its membership
 */
async function asProjectAdmin({ principalId }: Person): Promise<string> {
  const project = await own('POST', place.inSpace('/projects'), { name: 'Pier' });
  const path = place.inSpace(`/projects/${project.body.data.id}/members`);
  const member = { principal_id: principalId, role_id: builtInRoleId('project_admin') };
  return `${path}/${(await own('POST', path, member)).body.data.id}`;
}

interface Act {
  table: string;
  id: string;
  call: () => Promise<Answer>;
}

type Asked = [method: string, path: string, body?: object];

const act = (table: string, id: string, self: Person, asked: Asked): Act => ({
  table,
  id,
  call: () => place.ask(self, ...asked),
});
const lastPart = (path: string): string => path.split('/').at(-1)!;

const acts: Record<string, (self: Person) => Promise<Act>> = {
  'inviting again whose invite has run out': async (self) => {
    const email = `late${(count += 1)}@example.com`;
    const id = await invite(email);
    await place.admin.query('update invites set expires_at = now() where id = $1', [id]);
    return act('invites', id, self, ['POST', place.inSpace('/invites'), { email }]);
  },
  'revoking an invite': async (self) => {
    const id = await invite(`soon${(count += 1)}@example.com`);
    return act('invites', id, self, ['POST', place.inSpace(`/invites/${id}/revoke`)]);
  },
  'revoking its own key': async (self) => {
    const key = { principal_id: self.principalId, name: 'second' };
    const { id } = (await own('POST', '/admin/api-keys', key)).body.data;
    return act('api_keys', id, self, ['DELETE', `/admin/api-keys/${id}`]);
  },
  'ending its own session': async (self) => {
    await signedIn(place, self.principalId);
    const id = await idOf('sessions', self);
    return act('sessions', id, self, ['DELETE', `/sessions/${id}`]);
  },
  'signing out': async (self) => {
    const { accessToken } = await signedIn(place, self.principalId);
    const headers = { authorization: `Bearer ${accessToken}` };
    const call = () => place.gateway.send({ method: 'POST', path: '/v1/auth/logout', headers });
    return { table: 'sessions', id: await idOf('sessions', self), call };
  },
  'leaving a space': async (self) => {
    const id = await idOf('space_members', self);
    return act('space_members', id, self, ['DELETE', place.inSpace(`/members/${id}`)]);
  },
  'changing its own role in a space': async (self) => {
    const id = await idOf('space_members', self);
    const body = { role_id: builtInRoleId('space_viewer') };
    return act('space_members', id, self, ['PATCH', place.inSpace(`/members/${id}`), body]);
  },
  'leaving a project': async (self) => {
    const path = await asProjectAdmin(self);
    return act('project_members', lastPart(path), self, ['DELETE', path]);
  },
  'changing its own role in a project': async (self) => {
    const path = await asProjectAdmin(self);
    const body = { role_id: builtInRoleId('project_viewer') };
    return act('project_members', lastPart(path), self, ['PATCH', path, body]);
  },
  'deleting a project that it is in': async (self) => {
    const path = await asProjectAdmin(self);
    return act('project_members', lastPart(path), self, ['DELETE', path.split('/members')[0]!]);
  },
  'disabling the provider of its own session': async (self) => {
    const manager = await place.role(['identity_providers.manage']);
    await own('PUT', `/admin/principals/${self.principalId}/roles/${manager}`);
    await signedIn(place, self.principalId);
    const { rows } = await place.admin.query('select id, provider_id from sessions where principal_id = $1', [
      self.principalId,
    ]);
    const path = `/admin/identity-providers/${rows[0].provider_id}`;
    return act('sessions', rows[0].id, self, ['PATCH', path, { status: 'disabled' }]);
  },
};

describe('a deletion of a principal waits for it before it locks dependent rows', () => {
  it.each(Object.keys(acts))('%s', async (name) => {
    // Without any event of its own so far: the first one needs the tenant's row.
    const self = await place.person({ spaceRole: 'space_admin' });
    const { table, id, call } = await acts[name]!(self);
    await place.admin.query('begin');
    await place.admin.query('select from principals where id = $1 for update', [self.principalId]);
    const acting = call();
    await untilBlocked(place.admin);
    const free = await place.admin.query(`select id from ${table} where id = $1 for update skip locked`, [
      id,
    ]);
    await place.admin.query('rollback');
    expect((await acting).status).toBeLessThan(300);
    expect(free.rows).toEqual([{ id }]);
  });
});
