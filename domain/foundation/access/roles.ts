import { permissions, platformOnly, spaceScoped, type Permission } from './permissions.ts';

const everywhere = permissions.filter((permission) => !platformOnly.has(permission));
const inSpace = everywhere.filter((permission) => spaceScoped.has(permission));
const reads = everywhere.filter((permission) => permission.endsWith('.read'));
/** Only roles that manage tool servers and models may list credentials. */
const spaceReads = inSpace.filter(
  (permission) => permission.endsWith('.read') && permission !== 'credentials.read',
);

/** Notifications belong to their user and to no space, so every role includes this permission. */
const own: Permission[] = ['notifications.read'];

const memberSet: Permission[] = [
  ...own,
  ...spaceReads.filter((permission) => permission !== 'responses.read'),
  'knowledge.search',
  'tools.execute',
  'responses.create',
  'threads.create',
  'threads.update',
  'messages.create',
  'messages.read',
];

/** What a role can permit in a project: its settings, members and threads. */
const inProject = inSpace.filter(
  (permission) =>
    /^(projects|project_members|threads|messages)\./.test(permission) &&
    permission !== 'projects.create' &&
    permission !== 'threads.read_pii',
);
const projectReads = inProject.filter((permission) => permission.endsWith('.read'));

/** Roles that every tenant has; their keys can be neither created nor edited. */
export const builtInRoles: Readonly<Record<string, readonly Permission[]>> = {
  owner: everywhere,
  admin: everywhere.filter((permission) => permission !== 'tenants.delete'),
  auditor: [...reads, 'events.export'],
  member: ['notifications.read', 'models.read', 'skills.read'],
  space_admin: [...own, ...inSpace.filter((permission) => permission !== 'threads.read_pii')],
  space_editor: [
    ...memberSet,
    'collections.create',
    'collections.update',
    'collections.delete',
    'documents.write',
    'documents.delete',
    'connectors.create',
    'connectors.update',
    'connectors.sync',
    'mcp_servers.connect',
    'credentials.read',
    'projects.create',
    'projects.update',
    'responses.read',
  ],
  space_member: memberSet,
  space_viewer: [...own, ...spaceReads],
  project_admin: inProject,
  project_editor: [...projectReads, 'projects.update', 'threads.create', 'threads.update', 'messages.create'],
  project_viewer: projectReads,
  platform_operator: [...everywhere, ...platformOnly],
};
