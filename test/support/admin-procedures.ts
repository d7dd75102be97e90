import type { Client } from 'pg';
import { newId } from '#domain/foundation/kernel/ids.ts';
import type { AdminMaker } from './admin-maker.ts';
import type { Place } from './places.ts';
import type { ProcedureFixture } from './procedure-fixtures.ts';

/** Free text of the administration's procedures that contains no id. */
export const adminProcedureText = [
  'tenants.update name',
  'spaces.update name',
  'projects.create name',
  'projects.create description',
  'projects.update name',
  'projects.update description',
  'invites.create email',
  'roles.create key',
  'roles.create name',
  'roles.create description',
  'roles.update name',
  'roles.update description',
  'principals.update name',
];

export interface AdminParts {
  maker: AdminMaker;
  admin: Client;
  ownerOf(place: Place): string;
  /** A cursor after the first entry of a list of the place. */
  cursorOf(place: Place, path: string, input: object): Promise<string>;
}

const unknown = (thing: string) => ({ unknown: newId, code: `404 ${thing}_not_found` });
const space = unknown('space');
const role = unknown('role');
const member = unknown('member');
const project = unknown('project');
const principal = unknown('principal');
const tenant = unknown('tenant');
const cursor = { unknown: () => 'eyJ4Ijox.eA', code: '422 invalid_cursor' };

/** The fixture of each procedure of the administration. */
export function adminProcedures(parts: AdminParts): Record<string, ProcedureFixture> {
  const { maker, admin } = parts;
  const at = ({ spaceId }: Place) => ({ space_id: spaceId });
  const listed = (path: string, twice: (place: Place) => Promise<unknown>): ProcedureFixture => ({
    input: async (place) => {
      await twice(place);
      await twice(place);
      return { ...at(place), limit: 1, cursor: await parts.cursorOf(place, path, at(place)) };
    },
    ids: { space_id: space, cursor },
  });
  const inProject = async (place: Place) => ({ ...at(place), project_id: await maker.project(place) });
  const projectMember = async (place: Place) => {
    const ref = await inProject(place);
    return { ...ref, member_id: await maker.projectMember(place, ref.project_id) };
  };
  const spaceMember = async (place: Place) => ({
    ...at(place),
    member_id: (await maker.member(place)).id,
  });
  const invite = async (place: Place) => ({ ...at(place), invite_id: (await maker.invite(place)).id });
  /** Of the place's owner, by its address from here. */
  const ownInvite = async (place: Place) => {
    const email = `owner-${place.spaceId}@example.com`;
    await admin.query('update principals set email = $1 where id = $2', [email, parts.ownerOf(place)]);
    await admin.query(`delete from invites where space_id = $1 and email = $2 and status = 'pending'`, [
      place.spaceId,
      email,
    ]);
    const path = `/v1/spaces/${place.spaceId}/invites`;
    const made = await maker.send({ method: 'POST', path, apiKey: place.apiKey, body: { email } });
    return { ...at(place), invite_id: made.body.data.id as string };
  };
  /** The cursor after the first of two invites of the principal of the place's key. */
  const ownInvites = async (place: Place): Promise<string> => {
    const email = `own-${newId()}@example.com`;
    await admin.query(
      'update principals set email = $1 where id = (select principal_id from api_keys where key_id = $2)',
      [email, place.apiKey.split('.')[1]],
    );
    const post = (path: string, body: object) =>
      maker.send({ method: 'POST', path: `/v1/spaces${path}`, apiKey: place.apiKey, body });
    for (const name of ['Quay', 'Pier']) {
      const space = await post('', { name });
      await post(`/${space.body.data.id}/invites`, { email });
    }
    return maker.cursor(place, '/invites');
  };
  const inviteIds = { space_id: space, invite_id: unknown('invite') };
  const memberIds = { space_id: space, project_id: project, member_id: member };
  const ofPrincipal = async (place: Place) => ({ principal_id: await maker.principal(place) });
  const ofRole = async (place: Place) => ({ role_id: await maker.role(place) });

  return {
    'tenants.update': {
      input: async ({ tenantId }) => ({ tenant_id: tenantId, name: 'Light' }),
      ids: { tenant_id: tenant },
    },
    'spaces.get': { input: async (place) => at(place), ids: { space_id: space } },
    'spaces.delete': {
      input: async (place) => ({ space_id: await maker.space(place) }),
      ids: { space_id: space },
    },
    'spaces.update': { input: async (place) => ({ ...at(place), name: 'Dock' }), ids: { space_id: space } },
    'members.list': listed('members.list', (place) => maker.member(place)),
    'members.get': { input: spaceMember, ids: { space_id: space, member_id: member } },
    'members.changeRole': {
      input: async (place) => ({ ...(await spaceMember(place)), ...(await ofRole(place)) }),
      ids: { space_id: space, member_id: member, role_id: role },
    },
    'projects.list': listed('projects.list', (place) => maker.project(place)),
    'projects.get': { input: inProject, ids: { space_id: space, project_id: project } },
    'projects.create': {
      input: async (place) => ({ ...at(place), name: 'Pier' }),
      ids: { space_id: space },
    },
    'projects.update': {
      input: async (place) => ({ ...(await inProject(place)), name: 'Jetty' }),
      ids: { space_id: space, project_id: project },
    },
    'projects.delete': { input: inProject, ids: { space_id: space, project_id: project } },
    'projectMembers.list': {
      input: async (place) => {
        const ref = await inProject(place);
        await maker.projectMember(place, ref.project_id);
        await maker.projectMember(place, ref.project_id);
        return { ...ref, limit: 1, cursor: await parts.cursorOf(place, 'projectMembers.list', ref) };
      },
      ids: { space_id: space, project_id: project, cursor },
    },
    'projectMembers.get': { input: projectMember, ids: memberIds },
    'projectMembers.add': {
      input: async (place) => ({
        ...(await inProject(place)),
        principal_id: (await maker.member(place)).principalId,
        ...(await ofRole(place)),
      }),
      ids: { space_id: space, project_id: project, principal_id: principal, role_id: role },
    },
    'projectMembers.changeRole': {
      input: async (place) => ({ ...(await projectMember(place)), ...(await ofRole(place)) }),
      ids: { ...memberIds, role_id: role },
    },
    'projectMembers.remove': { input: projectMember, ids: memberIds },
    'invites.list': listed('invites.list', (place) => maker.invite(place)),
    'invites.own': {
      personal: true,
      input: async (place) => ({ limit: 1, cursor: await ownInvites(place) }),
      ids: { cursor },
    },
    'invites.get': { input: invite, ids: inviteIds },
    'invites.create': {
      input: async (place) => ({
        ...at(place),
        email: `new-${newId().slice(-12)}@example.com`,
        ...(await ofRole(place)),
      }),
      ids: { space_id: space, role_id: role },
    },
    'invites.accept': { input: ownInvite, ids: inviteIds },
    'invites.decline': { input: ownInvite, ids: inviteIds },
    'invites.revoke': { input: invite, ids: inviteIds },
    'roles.list': {
      input: async (place) => ({ limit: 1, cursor: await parts.cursorOf(place, 'roles.list', {}) }),
      ids: { cursor },
    },
    'roles.get': { input: ofRole, ids: { role_id: role } },
    'roles.create': { input: async () => ({ key: `role_${newId().slice(-12)}`, name: 'Role' }), ids: {} },
    'roles.update': {
      input: async (place) => ({ ...(await ofRole(place)), name: 'Renamed' }),
      ids: { role_id: role },
    },
    'roles.setPermissions': {
      input: async (place) => ({ ...(await ofRole(place)), permissions: ['models.read'] }),
      ids: { role_id: role },
    },
    'roles.delete': { input: ofRole, ids: { role_id: role } },
    'principals.get': { input: ofPrincipal, ids: { principal_id: principal } },
    'principals.update': {
      input: async (place) => ({ ...(await ofPrincipal(place)), name: 'Crane', status: 'disabled' }),
      ids: { principal_id: principal },
    },
    'principals.delete': { input: ofPrincipal, ids: { principal_id: principal } },
    'principals.roles': { input: ofPrincipal, ids: { principal_id: principal } },
    'principals.assignRole': {
      input: async (place) => ({ ...(await ofPrincipal(place)), ...(await ofRole(place)) }),
      ids: { principal_id: principal, role_id: role },
    },
    'principals.unassignRole': {
      input: async (place) => {
        const { principalId, roleId } = await maker.assigned(place);
        return { principal_id: principalId, role_id: roleId };
      },
      ids: { principal_id: principal, role_id: role },
    },
  };
}
