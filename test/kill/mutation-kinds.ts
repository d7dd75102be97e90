import { builtInRoleId } from '#domain/identity/roles/role-ids.ts';

/** The resources that one client knows; no other client touches them. */
export interface Known {
  collections: { id: string; documents: string[] }[];
  responses: string[];
  /** Of the tenant and not of the space. */
  principals: string[];
  members: { id: string; principalId: string; role: string }[];
  invites: string[];
  roles: { id: string; permissions: string[] }[];
  projects: { id: string; members: { id: string; principalId: string }[] }[];
  threads: { id: string; archived: boolean }[];
  keys: string[];
}

export const nothingKnown = (): Known => ({
  collections: [],
  responses: [],
  principals: [],
  members: [],
  invites: [],
  roles: [],
  projects: [],
  threads: [],
  keys: [],
});

export interface Client {
  readonly spaceId: string;
  readonly known: Known;
  random(): number;
  /** A word that no other mutation has. */
  word(): string;
  /**
   * Repeats the request until a gateway answers it.
   * @returns the resource in the answer
   */
  send(request: MutationRequest): Promise<Record<string, string>>;
  /** An expected additional event: its type, its resource, and the part of its metadata that `notified` reads. */
  expect(...parts: (string | number)[]): void;
}

export interface MutationRequest {
  method: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  body?: object;
  /** A state that another client may have caused. */
  alsoGood?: number;
}

/** The columns that identify an event, in SQL over its row and in the order of `Client.expect`. */
export const notified = `concat_ws(' ', event_type, resource_id, metadata ->> 'document_id', metadata ->> 'member_id',
  metadata ->> 'role', metadata ->> 'added', metadata ->> 'removed', metadata ->> 'members')`;

interface Kind {
  weight: number;
  possible?: (known: Known) => boolean;
  act: (client: Client) => Promise<void>;
}

const anyOf = <T>(list: readonly T[], client: Client): T => list[Math.floor(client.random() * list.length)]!;
const taken = <T>(list: T[], client: Client): T =>
  list.splice(Math.floor(client.random() * list.length), 1)[0]!;
const inSpace = ({ spaceId }: Client, path: string): string => `spaces/${spaceId}/${path}`;

async function create(client: Client, path: string, body: object): Promise<Record<string, string>> {
  return client.send({ method: 'POST', path, body });
}

async function remove(client: Client, path: string): Promise<void> {
  await client.send({ method: 'DELETE', path });
}

const withDocuments = ({ collections }: Known) => collections.filter(({ documents }) => documents.length > 0);
const running = ({ threads }: Known) => threads.filter(({ archived }) => !archived);
const withMembers = ({ projects }: Known) => projects.filter(({ members }) => members.length > 0);
/** Every member of the space that is not in a project yet. */
const outside = ({ projects, members }: Known) =>
  projects.flatMap((project) =>
    members.flatMap(({ principalId }) =>
      project.members.some((member) => member.principalId === principalId) ? [] : [{ project, principalId }],
    ),
  );

const spaceRoles = ['space_viewer', 'space_member', 'space_editor'];
const grants = ['collections.read', 'models.read', 'responses.read'];

const ofKnowledge: Record<string, Kind> = {
  'collection created': {
    weight: 10,
    act: async (client) => {
      const { id } = await create(client, inSpace(client, 'collections'), { name: 'Harbours' });
      client.known.collections.push({ id: id!, documents: [] });
      client.expect('collection.created', id!);
    },
  },
  'document added': {
    weight: 12,
    possible: ({ collections }) => collections.length > 0,
    act: async (client) => {
      const collection = anyOf(client.known.collections, client);
      const body = { filename: 'a.txt', media_type: 'text/plain', content: 'The beacon is blue.' };
      const { id } = await create(client, inSpace(client, `collections/${collection.id}/documents`), body);
      collection.documents.push(id!);
      client.expect('collection.documents_added', collection.id, id!);
    },
  },
  'document deleted': {
    weight: 7,
    possible: (known) => withDocuments(known).length > 0,
    act: async (client) => {
      const collection = anyOf(withDocuments(client.known), client);
      const id = taken(collection.documents, client);
      await remove(client, inSpace(client, `collections/${collection.id}/documents/${id}`));
      client.expect('collection.documents_deleted', collection.id, id);
    },
  },
  'collection deleted': {
    weight: 5,
    possible: ({ collections }) => collections.length > 0,
    act: async (client) => {
      const { id } = taken(client.known.collections, client);
      await remove(client, inSpace(client, `collections/${id}`));
      client.expect('collection.deleted', id);
    },
  },
};

/** The end of a response, by its client or by its worker, is recorded once: its row says which. */
const ofResponses: Record<string, Kind> = {
  'response created': {
    weight: 5,
    act: async (client) => {
      const body = { input: { text: 'Which colour is the beacon?' } };
      client.known.responses.push((await create(client, inSpace(client, 'responses'), body)).id!);
    },
  },
  'response cancelled': {
    weight: 4,
    possible: ({ responses }) => responses.length > 0,
    act: async (client) => {
      const path = inSpace(client, `responses/${taken(client.known.responses, client)}/cancel`);
      await client.send({ method: 'POST', path, alsoGood: 409 });
    },
  },
};

const ofPeople: Record<string, Kind> = {
  'principal created': {
    weight: 6,
    act: async (client) => {
      const { id } = await create(client, 'admin/principals', { type: 'service_account', name: 'Crane' });
      client.known.principals.push(id!);
      client.expect('security.principal_created', id!);
    },
  },
  'member added': {
    weight: 6,
    possible: ({ principals }) => principals.length > 0,
    act: async (client) => {
      const principalId = taken(client.known.principals, client);
      const role = anyOf(spaceRoles, client);
      const body = { principal_id: principalId, role_id: builtInRoleId(role) };
      const { id } = await create(client, inSpace(client, 'members'), body);
      client.known.members.push({ id: id!, principalId, role });
      client.expect('space.member_added', client.spaceId, id!, role);
    },
  },
  'role of a member set': {
    weight: 6,
    possible: ({ members }) => members.length > 0,
    act: async (client) => {
      const member = anyOf(client.known.members, client);
      const role = anyOf(spaceRoles, client);
      const path = inSpace(client, `members/${member.id}`);
      await client.send({ method: 'PATCH', path, body: { role_id: builtInRoleId(role) } });
      // Requests without a change write no event.
      if (role !== member.role) client.expect('space.member_role_changed', client.spaceId, member.id, role);
      member.role = role;
    },
  },
  'member removed': {
    weight: 3,
    possible: ({ members }) => members.length > 0,
    act: async (client) => {
      const { id, principalId, role } = taken(client.known.members, client);
      await remove(client, inSpace(client, `members/${id}`));
      for (const project of client.known.projects) {
        project.members = project.members.filter((member) => member.principalId !== principalId);
      }
      client.known.principals.push(principalId);
      client.expect('space.member_removed', client.spaceId, id, role);
    },
  },
  'invite created': {
    weight: 4,
    act: async (client) => {
      const body = { email: `${client.word()}@example.com` };
      const { id } = await create(client, inSpace(client, 'invites'), body);
      client.known.invites.push(id!);
      client.expect('space.invite_created', id!, 'space_member');
    },
  },
  'invite revoked': {
    weight: 3,
    possible: ({ invites }) => invites.length > 0,
    act: async (client) => {
      const id = taken(client.known.invites, client);
      await client.send({ method: 'POST', path: inSpace(client, `invites/${id}/revoke`) });
      client.expect('space.invite_revoked', id);
    },
  },
};

const ofRights: Record<string, Kind> = {
  'role created': {
    weight: 4,
    act: async (client) => {
      const { id } = await create(client, 'admin/roles', { key: client.word(), name: 'Keeper' });
      client.known.roles.push({ id: id!, permissions: [] });
      client.expect('security.role_created', id!);
    },
  },
  'permissions of a role set': {
    weight: 5,
    possible: ({ roles }) => roles.length > 0,
    act: async (client) => {
      const role = anyOf(client.known.roles, client);
      const permissions = grants.filter(() => client.random() < 0.5);
      await client.send({ method: 'PUT', path: `admin/roles/${role.id}/permissions`, body: { permissions } });
      const added = permissions.filter((each) => !role.permissions.includes(each)).join();
      const removed = role.permissions.filter((each) => !permissions.includes(each)).join();
      if (added !== '' || removed !== '') client.expect('security.role_updated', role.id, added, removed);
      role.permissions = permissions;
    },
  },
  'role deleted': {
    weight: 2,
    possible: ({ roles }) => roles.length > 0,
    act: async (client) => {
      const { id } = taken(client.known.roles, client);
      await remove(client, `admin/roles/${id}`);
      client.expect('security.role_deleted', id);
    },
  },
  'key issued': {
    weight: 4,
    act: async (client) => {
      const { id } = await create(client, 'admin/api-keys', { name: 'crane' });
      client.known.keys.push(id!);
      client.expect('security.api_key_created', id!);
    },
  },
  'key revoked': {
    weight: 3,
    possible: ({ keys }) => keys.length > 0,
    act: async (client) => {
      const id = taken(client.known.keys, client);
      await remove(client, `admin/api-keys/${id}`);
      client.expect('security.api_key_revoked', id);
    },
  },
};

const ofProjects: Record<string, Kind> = {
  'project created': {
    weight: 4,
    act: async (client) => {
      const { id } = await create(client, inSpace(client, 'projects'), { name: 'Pier' });
      client.known.projects.push({ id: id!, members: [] });
      client.expect('space.project_created', id!);
    },
  },
  'member of a project added': {
    weight: 5,
    possible: (known) => outside(known).length > 0,
    act: async (client) => {
      const { project, principalId } = anyOf(outside(client.known), client);
      const role = 'project_viewer';
      const body = { principal_id: principalId, role_id: builtInRoleId(role) };
      const { id } = await create(client, inSpace(client, `projects/${project.id}/members`), body);
      project.members.push({ id: id!, principalId });
      client.expect('space.project_member_added', project.id, id!, role);
    },
  },
  'member of a project removed': {
    weight: 2,
    possible: (known) => withMembers(known).length > 0,
    act: async (client) => {
      const project = anyOf(withMembers(client.known), client);
      const { id } = taken(project.members, client);
      await remove(client, inSpace(client, `projects/${project.id}/members/${id}`));
      client.expect('space.project_member_removed', project.id, id, 'project_viewer');
    },
  },
  'project deleted': {
    weight: 2,
    possible: ({ projects }) => projects.length > 0,
    act: async (client) => {
      const { id, members } = taken(client.known.projects, client);
      await remove(client, inSpace(client, `projects/${id}`));
      // The creator is a member, too.
      client.expect('space.project_deleted', id, members.length + 1);
    },
  },
};

const ofThreads: Record<string, Kind> = {
  'thread started': {
    weight: 5,
    act: async (client) => {
      const body = { content: 'The beacon is blue.' };
      const { thread_id: id } = await create(client, inSpace(client, 'threads/messages'), body);
      client.known.threads.push({ id: id!, archived: false });
      client.expect('space.thread_created', id!);
    },
  },
  'thread archived': {
    weight: 3,
    possible: (known) => running(known).length > 0,
    act: async (client) => {
      const thread = anyOf(running(client.known), client);
      const path = inSpace(client, `threads/${thread.id}`);
      await client.send({ method: 'PATCH', path, body: { status: 'archived' } });
      thread.archived = true;
      client.expect('space.thread_archived', thread.id);
    },
  },
  'thread deleted': {
    weight: 2,
    possible: ({ threads }) => threads.length > 0,
    act: async (client) => {
      const { id } = taken(client.known.threads, client);
      await remove(client, inSpace(client, `threads/${id}`));
      client.expect('space.thread_deleted', id);
    },
  },
};

/** Mutations, each with exactly the events that it writes, by their names in a report. */
export const kinds: Readonly<Record<string, Kind>> = {
  ...ofKnowledge,
  ...ofResponses,
  ...ofPeople,
  ...ofRights,
  ...ofProjects,
  ...ofThreads,
};

/**
 * Makes one possible mutation.
 * @returns its kind
 */
export async function mutate(client: Client): Promise<string> {
  const open = Object.entries(kinds).filter(([, { possible }]) => possible?.(client.known) ?? true);
  let dice = client.random() * open.reduce((total, [, { weight }]) => total + weight, 0);
  const [name, kind] = open.find(([, { weight }]) => (dice -= weight) < 0) ?? open[0]!;
  await kind.act(client);
  return name;
}
