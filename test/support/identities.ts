import type { RouteOptions } from 'fastify';
import type { Client } from 'pg';
import { implied, platformOnly, type Permission } from '#domain/foundation/access/permissions.ts';
import { expand } from '#domain/foundation/access/policy.ts';
import { builtInRoles } from '#domain/foundation/access/roles.ts';
import type { AdminMaker } from './admin-maker.ts';
import { addCustomRole, everything } from './custom-role.ts';
import type { TestDatabase } from './database.ts';
import type { Call } from './gateway.ts';
import type { Place } from './places.ts';
import type { SignInMaker } from './sign-in-fixtures.ts';
import { addMember, type NewMember, type World } from './world.ts';

/** The credential of a request; null for an anonymous one. */
export interface Credential {
  apiKey?: string;
  headers?: Record<string, string>;
  principalId?: string;
}

/** The expected outcome of an operation, by identity. */
export type Outcome =
  /** No caller is let in. */
  | { kind: 'unauthenticated'; code: string }
  /** A principal of another tenant: resources of this one are unknown to it. */
  | { kind: 'foreign' }
  /** A principal of this tenant, with its role where the operation checks. */
  | { kind: 'known'; held: ReadonlySet<Permission> };

export interface Identity {
  name: string;
  credential(permission: Permission | undefined): Promise<Credential>;
  outcome(route: RouteOptions): Outcome;
}

export interface IdentityParts {
  signIn: SignInMaker;
  database: TestDatabase;
  admin: Client;
  maker: AdminMaker;
  world: World;
  here: Place;
  abroad: Place;
}

/**
 * The scope of a role of a space: the space itself, searches of all spaces, and the holder's own notifications, which
 * belong to no space.
 */
const inSpace = ({ url, config }: RouteOptions): boolean =>
  url.includes(':space_id') ||
  url.includes('/mcp-auth/') ||
  ['notifications.read', 'knowledge.search'].includes(config?.permission ?? '');
const none: ReadonlySet<Permission> = new Set();
/** The permissions needed to grant the roles in the matrix's requests. */
const giving: Permission[] = [
  ...builtInRoles['space_viewer']!,
  ...builtInRoles['space_member']!,
  ...builtInRoles['project_editor']!,
  'models.read',
];

/** All permissions except one and those that imply it. */
function without(permission: Permission | undefined): Permission[] {
  return everything.filter((each) => permission === undefined || !implied(each).includes(permission));
}

function having(permission: Permission | undefined): Permission[] {
  return permission === undefined || platformOnly.has(permission) ? giving : [...giving, permission];
}

/** The twelve identities. Those that are not `perPermission` are created once. */
export function identities(parts: IdentityParts): Identity[] {
  const { admin, database, maker, signIn, world, here, abroad } = parts;
  const person = (options: NewMember) => addMember(database.unitOfWork, { ...world, ...here }, options);
  const lasting = (make: () => Promise<Credential>) => {
    let made: Promise<Credential> | undefined;
    return () => (made ??= make());
  };
  const holding = async (names: readonly Permission[]): Promise<Credential> => {
    const { key } = await addCustomRole(admin, here.tenantId, names);
    return person({ tenantRoles: [key], spaceRole: key });
  };
  const roleOf = (key: string) => expand(builtInRoles[key]!);
  const unauthenticated = (code: string) => () => ({ kind: 'unauthenticated' as const, code });
  const foreign = () => ({ kind: 'foreign' as const });
  return [
    {
      name: 'anonymous',
      credential: async () => ({}),
      outcome: unauthenticated('not_authenticated'),
    },
    {
      name: 'expired token',
      credential: lasting(async () => {
        const { id, accessToken } = await signIn.session(here);
        await admin.query(`update session_tokens set expires_at = now() where session_id = $1`, [id]);
        return { headers: { authorization: `Bearer ${accessToken}` } };
      }),
      outcome: unauthenticated('token_expired'),
    },
    {
      name: 'revoked key',
      credential: lasting(async () => {
        const { id, token } = await maker.apiKey(here);
        await maker.remove(here, `/admin/api-keys/${id}`);
        return { apiKey: token };
      }),
      outcome: unauthenticated('invalid_credentials'),
    },
    {
      name: 'deleted principal',
      credential: lasting(async () => {
        const { principalId, apiKey } = await person({ tenantRoles: ['owner'] });
        await maker.remove(here, `/admin/principals/${principalId}`);
        return { apiKey };
      }),
      outcome: unauthenticated('invalid_credentials'),
    },
    {
      name: 'foreign admin by token',
      credential: lasting(async () => {
        const { accessToken } = await signIn.session(abroad);
        return { headers: { authorization: `Bearer ${accessToken}` } };
      }),
      outcome: foreign,
    },
    { name: 'foreign admin by key', credential: async () => ({ apiKey: abroad.apiKey }), outcome: foreign },
    {
      name: 'stranger of the same tenant',
      credential: lasting(() => person({ spaceRole: null })),
      outcome: () => ({ kind: 'known', held: none }),
    },
    {
      name: 'member without the permission',
      credential: (permission) => holding(without(permission)),
      outcome: ({ config }) => ({ kind: 'known', held: expand(without(config?.permission)) }),
    },
    {
      name: 'member with the permission',
      credential: (permission) => holding(having(permission)),
      outcome: ({ config }) => ({ kind: 'known', held: expand(having(config?.permission)) }),
    },
    {
      name: 'space admin',
      credential: lasting(() => person({ spaceRole: 'space_admin' })),
      outcome: (route) => ({ kind: 'known', held: inSpace(route) ? roleOf('space_admin') : none }),
    },
    {
      name: 'tenant admin',
      credential: lasting(() => person({ spaceRole: null, tenantRoles: ['admin'] })),
      outcome: () => ({ kind: 'known', held: roleOf('admin') }),
    },
    {
      name: 'agent',
      credential: lasting(async () => {
        const made = await person({ spaceRole: 'space_member' });
        await admin.query(`update principals set type = 'agent' where id = $1`, [made.principalId]);
        return made;
      }),
      outcome: (route) => ({ kind: 'known', held: inSpace(route) ? roleOf('space_member') : none }),
    },
  ];
}

/** The same request by another identity. */
export function as(credential: Credential, call: Call): Call {
  const { apiKey: _, headers: { authorization: __, ...headers } = {}, ...rest } = call;
  return {
    ...rest,
    headers: { ...headers, ...credential.headers },
    ...(credential.apiKey === undefined ? {} : { apiKey: credential.apiKey }),
  };
}
