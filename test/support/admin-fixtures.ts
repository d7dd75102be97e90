import { builtInRoleId } from '#domain/identity/roles/role-ids.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import type { AdminMaker, Guest } from './admin-maker.ts';
import type { Call } from './gateway.ts';
import type { IdFixture } from './id-fixtures.ts';
import type { Place } from './places.ts';
import { newKey, someCursor } from './space-fixtures.ts';

type Fixtures = Record<string, IdFixture>;
type Path = (place: Place) => Promise<string>;
type Body = (place: Place) => Promise<object>;

const name = { name: 'Quay' };
const viewer = builtInRoleId('project_viewer');

/** Free text that contains no id, by operation. */
export const adminText = [
  ...['key', 'name', 'description'].map((field) => `createRole body ${field}`),
  ...['name', 'description'].map((field) => `updateRole body ${field}`),
  ...['email', 'name'].map((field) => `createPrincipal body ${field}`),
  'updatePrincipal body name',
  'createApiKey body name',
  ...['slug', 'name'].map((field) => `createTenant body ${field}`),
  'updateTenant body name',
  'createSpace body name',
  'updateSpace body name',
  // one of models, which are tested separately
  'setSpaceModels body default_model',
  ...['createProject', 'updateProject'].flatMap((operation) =>
    ['name', 'description'].map((field) => `${operation} body ${field}`),
  ),
  'createInvite body email',
];

/** Valid bodies, new each time. */
export function adminBodies(maker: AdminMaker) {
  const role = async () => ({ key: `role_${newId().slice(-12)}`, name: 'Role' });
  return {
    role,
    principal: async () => ({ type: 'service_account', name: 'crane' }),
    apiKey: async (place: Place) => ({ principal_id: await maker.principal(place), name: 'crane' }),
    tenant: async () => ({ slug: `t-${newId()}`, name: 'Tenant' }),
    space: async () => name,
    models: async ({ modelAlias }: Place) => ({ models: [modelAlias], default_model: modelAlias }),
    member: async (place: Place) => ({ principal_id: await maker.principal(place) }),
    project: async () => ({ ...name, description: 'Wood.' }),
    projectMember: async (place: Place) => ({
      principal_id: (await maker.member(place)).principalId,
      role_id: viewer,
    }),
    invite: async () => ({ email: `new-${newId().slice(-12)}@example.com` }),
  } satisfies Record<string, Body>;
}

/** A valid request of each operation that has no id in its path. */
export function wholeCalls(maker: AdminMaker): Record<string, (place: Place) => Promise<Call>> {
  const bodies = adminBodies(maker);
  const listing = (path: string) => async (place: Place) => ({
    method: 'GET',
    path: `/v1${path}`,
    apiKey: place.apiKey,
  });
  const creating = (path: string, body: Body) => async (place: Place) => ({
    method: 'POST',
    path: `/v1${path}`,
    apiKey: place.apiKey,
    body: await body(place),
  });
  const asOperator = (call: (place: Place) => Promise<Call>) => async (place: Place) => ({
    ...(await call(place)),
    apiKey: await maker.operatorOf(place),
  });
  return {
    createRole: creating('/admin/roles', bodies.role),
    listRoles: listing('/admin/roles'),
    createPrincipal: creating('/admin/principals', bodies.principal),
    listPrincipals: listing('/admin/principals'),
    createApiKey: creating('/admin/api-keys', bodies.apiKey),
    listApiKeys: listing('/admin/api-keys'),
    createTenant: asOperator(creating('/admin/tenants', bodies.tenant)),
    listTenants: asOperator(listing('/admin/tenants')),
    listEvents: listing('/events'),
    createSpace: creating('/spaces', bodies.space),
    listSpaces: listing('/spaces'),
    listOwnInvites: listing('/invites'),
  };
}

/** One for every position of the administration that holds an id. */
export function adminFixtures(maker: AdminMaker, addModel: (place: Place) => Promise<string>): Fixtures {
  const bodies = adminBodies(maker);
  const at = (place: Place, method: string, path: string, body?: object): Call => ({
    method,
    path: `/v1${path}`,
    apiKey: place.apiKey,
    ...(body && { body }),
  });
  const none = async () => undefined;

  /** An id in the path of a resource that belongs to the whole tenant. */
  const ofTenant = (
    thing: { make: Path; gone?: Path; code: string },
    method: string,
    path: (place: Place, id: string) => Promise<string>,
    body: (place: Place) => Promise<object | undefined> = none,
  ): IdFixture => ({
    make: thing.make,
    ...(thing.gone && { gone: thing.gone }),
    unknown: newId,
    call: async (place, id) => at(place, method, await path(place, id), await body(place)),
    refusal: `404 ${thing.code}`,
    neighbourRefusal: null,
  });
  const aRole = {
    make: (place: Place) => maker.role(place),
    gone: async (place: Place) => {
      const id = await maker.role(place);
      await maker.remove(place, `/admin/roles/${id}`);
      return id;
    },
    code: 'role_not_found',
  };
  const aPrincipal = {
    make: (place: Place) => maker.principal(place),
    gone: async (place: Place) => {
      const id = await maker.principal(place);
      await maker.remove(place, `/admin/principals/${id}`);
      return id;
    },
    code: 'principal_not_found',
  };
  const aKey = {
    make: async (place: Place) => (await maker.apiKey(place, await maker.principal(place))).id,
    code: 'api_key_not_found',
  };
  const aTenant = { make: async ({ tenantId }: Place) => tenantId, code: 'tenant_not_found' };
  const operators = (fixture: IdFixture): IdFixture => ({
    ...fixture,
    operator: true,
    call: async (place, id) => ({
      ...(await fixture.call(place, id)),
      apiKey: await maker.operatorOf(place),
    }),
  });

  const space = (method: string, rest: Path, body: (place: Place) => Promise<object | undefined> = none) => ({
    make: async (place: Place) => place.spaceId,
    unknown: newId,
    call: async (place: Place, id: string) =>
      at(place, method, `/spaces/${id}${await rest(place)}`, await body(place)),
    refusal: '404 space_not_found',
    neighbourRefusal: null,
  });
  const inSpace = (place: Place, rest: string) => `/spaces/${place.spaceId}${rest}`;

  /** A member of a body, in an otherwise valid request. */
  const inBody = (
    thing: { make: Path; gone?: Path; code: string },
    method: string,
    path: Path,
    body: (place: Place, id: string) => Promise<object>,
  ): IdFixture => ({
    make: thing.make,
    ...(thing.gone && { gone: thing.gone }),
    unknown: newId,
    call: async (place, id) => at(place, method, await path(place), await body(place, id)),
    refusal: `404 ${thing.code}`,
    neighbourRefusal: null,
  });

  /** The two spaces of a tenant have one owner: for resources of the tenant, its key is the same in both. */
  const tenantFresh = (path: string, body: Body): IdFixture => ({
    ...fresh(async () => path, body),
    neighbourRefusal: null,
  });
  const fresh = (path: Path, body: Body): IdFixture => {
    const calls = new Map<string, Promise<Call>>();
    const call = (place: Place, id: string): Promise<Call> => {
      const own = `${place.spaceId} ${id}`;
      const made =
        calls.get(own) ??
        (async () => ({
          ...at(place, 'POST', await path(place), await body(place)),
          headers: { 'idempotency-key': id },
        }))();
      calls.set(own, made);
      return made;
    };
    return {
      make: async (place) => {
        const id = newKey();
        await maker.send(await call(place, id));
        return id;
      },
      unknown: newKey,
      call,
      refusal: 'fresh',
    };
  };

  /** The list with at least two entries. */
  const cursor = (path: Path, twice: (place: Place) => Promise<unknown>): IdFixture => {
    const lists = new Map<string, Promise<string>>();
    const listOf = (place: Place): Promise<string> => {
      const made =
        lists.get(place.spaceId) ??
        (async () => {
          const list = await path(place);
          lists.set(place.spaceId, Promise.resolve(list));
          await twice(place);
          await twice(place);
          return list;
        })();
      lists.set(place.spaceId, made);
      return made;
    };
    return {
      make: async (place) => maker.cursor(place, await listOf(place)),
      unknown: someCursor,
      call: async (place, id) => at(place, 'GET', `${await listOf(place)}?cursor=${id}`),
      refusal: '422 invalid_cursor',
    };
  };
  const tenantCursor = (path: string, twice: (place: Place) => Promise<unknown>): IdFixture => ({
    ...cursor(async () => path, twice),
    neighbourRefusal: null,
  });

  /** The space in which resources were made that belong to a space. */
  const homes = new Map<string, { spaceId: string; project: string }>();
  const projectMember = async (place: Place): Promise<string> => {
    const project = await maker.project(place);
    const id = await maker.projectMember(place, project);
    homes.set(id, { spaceId: place.spaceId, project });
    return id;
  };
  const memberPath = async (place: Place, id: string): Promise<string> => {
    const home = homes.get(id);
    const project = home?.spaceId === place.spaceId ? home.project : await maker.project(place);
    return inSpace(place, `/projects/${project}/members/${id}`);
  };
  const aProjectMember = async (place: Place): Promise<string> =>
    (await memberPath(place, await projectMember(place))).replace(inSpace(place, ''), '');
  const projects = new Map<string, string>();
  const projectIn = (
    method: string,
    rest: (place: Place, project: string) => Promise<string>,
    body: (place: Place) => Promise<object | undefined> = none,
  ): IdFixture => ({
    make: async (place) => {
      const id = await maker.project(place);
      projects.set(id, place.spaceId);
      return id;
    },
    gone: async (place) => {
      const id = await maker.project(place);
      await maker.remove(place, inSpace(place, `/projects/${id}`));
      return id;
    },
    unknown: newId,
    call: async (place, id) => {
      const inside = projects.get(id) === place.spaceId ? id : await maker.project(place);
      const path = inSpace(place, `/projects/${id}${await rest(place, inside)}`);
      return at(place, method, path, await body(place));
    },
    refusal: '404 project_not_found',
  });
  const aProject = (rest: string) => async (place: Place) => `/projects/${await maker.project(place)}${rest}`;
  const membersOf = async (place: Place) => inSpace(place, `/projects/${await maker.project(place)}/members`);
  const projectMemberIn = (
    method: string,
    body: (place: Place) => Promise<object | undefined> = none,
  ): IdFixture => ({
    make: projectMember,
    gone: async (place) => {
      const id = await projectMember(place);
      await maker.remove(place, await memberPath(place, id));
      return id;
    },
    unknown: newId,
    call: async (place, id) => at(place, method, await memberPath(place, id), await body(place)),
    refusal: '404 member_not_found',
  });

  const memberIn = (
    method: string,
    body: (place: Place) => Promise<object | undefined> = none,
  ): IdFixture => ({
    make: async (place) => (await maker.member(place)).id,
    gone: async (place) => {
      const { id } = await maker.member(place);
      await maker.remove(place, inSpace(place, `/members/${id}`));
      return id;
    },
    unknown: newId,
    call: async (place, id) => at(place, method, inSpace(place, `/members/${id}`), await body(place)),
    refusal: '404 member_not_found',
  });
  const aMember = async (place: Place) => `/members/${(await maker.member(place)).id}`;

  const invitees = new Map<string, Promise<Guest>>();
  const inviteeOf = (place: Place): Promise<Guest> => {
    const made = invitees.get(place.spaceId) ?? maker.invitee(place);
    invitees.set(place.spaceId, made);
    return made;
  };
  const guests = new Map<string, Guest & { spaceId: string }>();
  const anInvite = async (place: Place): Promise<string> => {
    const { id, guest } = await maker.invite(place);
    guests.set(id, { ...guest, spaceId: place.spaceId });
    return id;
  };
  const inviteIn = (method: string, verb: string): IdFixture => ({
    make: anInvite,
    unknown: newId,
    call: async (place, id) => at(place, method, inSpace(place, `/invites/${id}${verb}`)),
    refusal: '404 invite_not_found',
  });
  /** As the guest that the invite is for. */
  const byGuest = (fixture: IdFixture, inviteOf: (call: Call) => string): IdFixture => ({
    ...fixture,
    call: async (place, id) => {
      const call = await fixture.call(place, id);
      const known = guests.get(inviteOf(call));
      const guest = known?.spaceId === place.spaceId ? known : await maker.guest(place);
      return { ...call, apiKey: guest.apiKey };
    },
  });
  const invitePart = ({ path }: Call): string => path.split('/')[5] ?? '';
  const answered = (verb: string) => ({
    path: byGuest(inviteIn('POST', verb), invitePart),
    space: byGuest(
      space('POST', async (place) => `/invites/${await anInvite(place)}${verb}`),
      invitePart,
    ),
  });
  const [accepting, declining] = [answered('/accept'), answered('/decline')];

  const givenRole = async () => ({ role_id: builtInRoleId('space_viewer') });
  const givenProjectRole = async () => ({ role_id: builtInRoleId('project_editor') });
  const roleWith = (body: Body) => async (place: Place, id: string) => ({
    ...(await body(place)),
    role_id: id,
  });

  return {
    'createRole header idempotency-key': tenantFresh('/admin/roles', bodies.role),
    'listRoles query cursor': tenantCursor('/admin/roles', (place) => maker.role(place)),
    'getRole path role_id': ofTenant(aRole, 'GET', async (_place, id) => `/admin/roles/${id}`),
    'updateRole path role_id': ofTenant(
      aRole,
      'PATCH',
      async (_place, id) => `/admin/roles/${id}`,
      async () => name,
    ),
    'setRolePermissions path role_id': ofTenant(
      aRole,
      'PUT',
      async (_place, id) => `/admin/roles/${id}/permissions`,
      async () => ({ permissions: ['models.read'] }),
    ),
    'deleteRole path role_id': ofTenant(aRole, 'DELETE', async (_place, id) => `/admin/roles/${id}`),
    'createPrincipal header idempotency-key': tenantFresh('/admin/principals', bodies.principal),
    'listPrincipals query cursor': tenantCursor('/admin/principals', (place) => maker.principal(place)),
    'getPrincipal path principal_id': ofTenant(
      aPrincipal,
      'GET',
      async (_place, id) => `/admin/principals/${id}`,
    ),
    'updatePrincipal path principal_id': ofTenant(
      aPrincipal,
      'PATCH',
      async (_place, id) => `/admin/principals/${id}`,
      async () => ({ name: 'Crane' }),
    ),
    'deletePrincipal path principal_id': ofTenant(
      aPrincipal,
      'DELETE',
      async (_place, id) => `/admin/principals/${id}`,
    ),
    'listPrincipalRoles path principal_id': ofTenant(
      aPrincipal,
      'GET',
      async (_place, id) => `/admin/principals/${id}/roles`,
    ),
    'assignRole path principal_id': ofTenant(
      aPrincipal,
      'PUT',
      async (place, id) => `/admin/principals/${id}/roles/${await maker.role(place)}`,
    ),
    'assignRole path role_id': ofTenant(
      aRole,
      'PUT',
      async (place, id) => `/admin/principals/${await maker.principal(place)}/roles/${id}`,
    ),
    ...unassigning(),
    'createApiKey header idempotency-key': tenantFresh('/admin/api-keys', bodies.apiKey),
    'createApiKey body principal_id': inBody(
      aPrincipal,
      'POST',
      async () => '/admin/api-keys',
      async (_place, id) => ({ principal_id: id, name: 'crane' }),
    ),
    'listApiKeys query cursor': tenantCursor('/admin/api-keys', (place) => maker.apiKey(place)),
    'getApiKey path api_key_id': ofTenant(aKey, 'GET', async (_place, id) => `/admin/api-keys/${id}`),
    'revokeApiKey path api_key_id': ofTenant(aKey, 'DELETE', async (_place, id) => `/admin/api-keys/${id}`),
    'createTenant header idempotency-key': operators(fresh(async () => '/admin/tenants', bodies.tenant)),
    'listTenants query cursor': operators({
      ...tenantCursor('/admin/tenants', none),
      make: async (place) => maker.cursor(place, '/admin/tenants', await maker.operatorOf(place)),
    }),
    'getTenant path tenant_id': ofTenant(aTenant, 'GET', async (_place, id) => `/admin/tenants/${id}`),
    'updateTenant path tenant_id': ofTenant(
      aTenant,
      'PATCH',
      async (_place, id) => `/admin/tenants/${id}`,
      async () => name,
    ),
    ...Object.fromEntries(
      ['suspend', 'resume'].map((verb) => [
        `${verb}Tenant path tenant_id`,
        operators(
          // A permanent suspension would break all other tests here.
          ofTenant(
            { ...aTenant, make: verb === 'suspend' ? () => anotherTenant() : aTenant.make },
            'POST',
            async (_place, id) => `/admin/tenants/${id}/${verb}`,
          ),
        ),
      ]),
    ),
    'createSpace header idempotency-key': tenantFresh('/spaces', bodies.space),
    'listSpaces query cursor': tenantCursor('/spaces', async (place) =>
      maker.send(at(place, 'POST', '/spaces', name)),
    ),
    'getSpace path space_id': space('GET', async () => ''),
    'deleteSpace path space_id': {
      ...space('DELETE', async () => ''),
      make: (place) => maker.space(place),
    },
    'updateSpace path space_id': space('PATCH', async () => '', bodies.space),
    'getSpaceModels path space_id': space('GET', async () => '/models'),
    'setSpaceModels path space_id': space('PUT', async () => '/models', bodies.models),
    'setSpaceModels body models[]': {
      ...inBody(
        { make: addModel, code: 'model_not_found' },
        'PUT',
        async (place) => inSpace(place, '/models'),
        async ({ modelAlias }, id) => ({ models: [modelAlias, id], default_model: modelAlias }),
      ),
      unknown: () => `model-${newId()}`,
    },
    'addMember path space_id': space('POST', async () => '/members', bodies.member),
    'addMember header idempotency-key': fresh(async (place) => inSpace(place, '/members'), bodies.member),
    'addMember body principal_id': inBody(
      aPrincipal,
      'POST',
      async (place) => inSpace(place, '/members'),
      async (_place, id) => ({ principal_id: id }),
    ),
    'addMember body role_id': inBody(
      aRole,
      'POST',
      async (place) => inSpace(place, '/members'),
      roleWith(bodies.member),
    ),
    'listMembers path space_id': space('GET', async () => '/members'),
    'listMembers query cursor': cursor(
      async (place) => inSpace(place, '/members'),
      (place) => maker.member(place),
    ),
    'listOwnInvites query cursor': {
      make: async (place) => maker.cursor(place, '/invites', (await inviteeOf(place)).apiKey),
      unknown: someCursor,
      call: async (place, id) => ({
        ...at(place, 'GET', `/invites?cursor=${id}`),
        apiKey: (await inviteeOf(place)).apiKey,
      }),
      refusal: '422 invalid_cursor',
    },
    'getMember path space_id': space('GET', aMember),
    'getMember path member_id': memberIn('GET'),
    'changeMemberRole path space_id': space('PATCH', aMember, givenRole),
    'changeMemberRole path member_id': memberIn('PATCH', givenRole),
    'changeMemberRole body role_id': inBody(
      aRole,
      'PATCH',
      async (place) => inSpace(place, await aMember(place)),
      async (_place, id) => ({ role_id: id }),
    ),
    'removeMember path space_id': space('DELETE', aMember),
    'removeMember path member_id': memberIn('DELETE'),
    'createProject path space_id': space('POST', async () => '/projects', bodies.project),
    'createProject header idempotency-key': fresh(
      async (place) => inSpace(place, '/projects'),
      bodies.project,
    ),
    'listProjects path space_id': space('GET', async () => '/projects'),
    'listProjects query cursor': cursor(
      async (place) => inSpace(place, '/projects'),
      (place) => maker.project(place),
    ),
    'getProject path space_id': space('GET', aProject('')),
    'getProject path project_id': projectIn('GET', async () => ''),
    'updateProject path space_id': space('PATCH', aProject(''), bodies.project),
    'updateProject path project_id': projectIn('PATCH', async () => '', bodies.project),
    'deleteProject path space_id': space('DELETE', aProject('')),
    'deleteProject path project_id': projectIn('DELETE', async () => ''),
    'addProjectMember path space_id': space('POST', aProject('/members'), bodies.projectMember),
    'addProjectMember path project_id': projectIn('POST', async () => '/members', bodies.projectMember),
    'addProjectMember header idempotency-key': fresh(rememberedProject(), bodies.projectMember),
    'addProjectMember body principal_id': {
      ...inBody(
        { ...aPrincipal, make: async (place) => (await maker.member(place)).principalId },
        'POST',
        membersOf,
        async (_place, id) => ({ principal_id: id, role_id: viewer }),
      ),
      // A principal of the tenant, but no member of this space.
      neighbourRefusal: '409 invalid_state',
    },
    'addProjectMember body role_id': inBody(aRole, 'POST', membersOf, roleWith(bodies.projectMember)),
    'listProjectMembers path space_id': space('GET', aProject('/members')),
    'listProjectMembers path project_id': projectIn('GET', async () => '/members'),
    'listProjectMembers query cursor': projectMemberCursor(),
    'getProjectMember path space_id': space('GET', aProjectMember),
    'getProjectMember path project_id': projectIn(
      'GET',
      async (place, project) => `/members/${await maker.projectMember(place, project)}`,
    ),
    'getProjectMember path member_id': projectMemberIn('GET'),
    'changeProjectRole path space_id': space('PATCH', aProjectMember, givenProjectRole),
    'changeProjectRole path project_id': projectIn(
      'PATCH',
      async (place, project) => `/members/${await maker.projectMember(place, project)}`,
      givenProjectRole,
    ),
    'changeProjectRole path member_id': projectMemberIn('PATCH', givenProjectRole),
    'changeProjectRole body role_id': inBody(
      aRole,
      'PATCH',
      async (place) => inSpace(place, await aProjectMember(place)),
      async (_place, id) => ({ role_id: id }),
    ),
    'removeProjectMember path space_id': space('DELETE', aProjectMember),
    'removeProjectMember path project_id': projectIn(
      'DELETE',
      async (place, project) => `/members/${await maker.projectMember(place, project)}`,
    ),
    'removeProjectMember path member_id': projectMemberIn('DELETE'),
    'createInvite path space_id': space('POST', async () => '/invites', bodies.invite),
    'createInvite header idempotency-key': fresh(async (place) => inSpace(place, '/invites'), bodies.invite),
    'createInvite body role_id': inBody(
      aRole,
      'POST',
      async (place) => inSpace(place, '/invites'),
      roleWith(bodies.invite),
    ),
    'listInvites path space_id': space('GET', async () => '/invites'),
    'listInvites query cursor': cursor(async (place) => inSpace(place, '/invites'), anInvite),
    'getInvite path space_id': space('GET', async (place) => `/invites/${await anInvite(place)}`),
    'getInvite path invite_id': inviteIn('GET', ''),
    'acceptInvite path space_id': accepting.space,
    'acceptInvite path invite_id': accepting.path,
    'declineInvite path space_id': declining.space,
    'declineInvite path invite_id': declining.path,
    'revokeInvite path space_id': space('POST', async (place) => `/invites/${await anInvite(place)}/revoke`),
    'revokeInvite path invite_id': inviteIn('POST', '/revoke'),
  };

  /** Both ids name the same assignment, which has to exist. */
  function unassigning(): Fixtures {
    const pairs = new Map<string, { tenantId: string; other: string }>();
    const remember = (which: 'principalId' | 'roleId') => async (place: Place) => {
      const pair = await maker.assigned(place);
      const { tenantId } = place;
      pairs.set(pair[which], { tenantId, other: which === 'roleId' ? pair.principalId : pair.roleId });
      return pair[which];
    };
    const partner = async (place: Place, id: string, otherwise: Path): Promise<string> => {
      const pair = pairs.get(id);
      return pair?.tenantId === place.tenantId ? pair.other : otherwise(place);
    };
    return {
      'unassignRole path principal_id': ofTenant(
        { ...aPrincipal, make: remember('principalId') },
        'DELETE',
        async (place, id) => `/admin/principals/${id}/roles/${await partner(place, id, aRole.make)}`,
      ),
      'unassignRole path role_id': ofTenant(
        { ...aRole, make: remember('roleId') },
        'DELETE',
        async (place, id) => `/admin/principals/${await partner(place, id, aPrincipal.make)}/roles/${id}`,
      ),
    };
  }

  async function anotherTenant(): Promise<string> {
    const { body } = await maker.openTenant();
    return body.data.tenant_id as string;
  }

  /** The same project for each call of a place: its path belongs to the key. */
  function rememberedProject(): Path {
    const known = new Map<string, Promise<string>>();
    return (place) => {
      const path = known.get(place.spaceId) ?? membersOf(place);
      known.set(place.spaceId, path);
      return path;
    };
  }

  function projectMemberCursor(): IdFixture {
    const path = rememberedProject();
    return cursor(path, async (place) => {
      const project = (await path(place)).split('/')[4]!;
      await maker.projectMember(place, project);
    });
  }
}
