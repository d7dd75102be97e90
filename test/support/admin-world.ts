import type { Client } from 'pg';
import type { Permission } from '#domain/foundation/access/permissions.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { eventTypesOf } from './event-log.ts';
import { openGateway, type Answer, type TestGateway } from './gateway.ts';
import { Maker } from './places.ts';
import { SignInMaker } from './sign-in-fixtures.ts';
import { connect } from './tables.ts';
import { addMember, createWorld, type NewMember, type World } from './world.ts';

export interface Person {
  principalId: string;
  apiKey: string;
}

/** A gateway over one tenant, and the calls of its people. */
export interface AdminWorld {
  database: TestDatabase;
  gateway: TestGateway;
  admin: Client;
  world: World;
  owner: Person;
  person(options?: NewMember & { email?: string }): Promise<Person>;
  /** The same person with another, restricted key. */
  restricted(who: Person, permissions: readonly Permission[]): Promise<Person>;
  /** Any operation of version 1, as `who`. */
  ask(who: Person, method: string, path: string, body?: object): Promise<Answer>;
  inSpace(path: string): string;
  /** The types of the tenant's events that name a resource, oldest first. */
  eventsOf(resourceId: string): Promise<string[]>;
  /** A custom role that permits `permissions`. @returns its id */
  role(permissions: string[], key?: string): Promise<string>;
  close(): Promise<void>;
}

let roles = 0;

export async function openAdminWorld(): Promise<AdminWorld> {
  const database = await createTestDatabase();
  const gateway = await openGateway(database);
  const admin = await connect(database.adminUrl);
  const world = await createWorld(database.unitOfWork);
  const owner = { principalId: world.owner.principalId, apiKey: world.apiKey };
  const place: AdminWorld = {
    database,
    gateway,
    admin,
    world,
    owner,
    person: async ({ email, ...options } = {}) => {
      const person = await addMember(database.unitOfWork, world, options);
      if (email !== undefined) {
        await admin.query('update principals set email = $1 where id = $2', [email, person.principalId]);
      }
      return person;
    },
    restricted: async (who, permissions) => {
      const made = await place.ask(who, 'POST', '/admin/api-keys', { name: 'cut', permissions });
      if (made.status !== 201) throw new Error(made.text);
      return { ...who, apiKey: made.body.data.api_key as string };
    },
    ask: (who, method, path, body) =>
      gateway.send({ method, path: `/v1${path}`, apiKey: who.apiKey, ...(body && { body }) }),
    inSpace: (path) => `/spaces/${world.spaceId}${path}`,
    eventsOf: (resourceId) => eventTypesOf(admin, resourceId),
    role: async (permissions, key = `role_${(roles += 1)}`) => {
      const made = await place.ask(owner, 'POST', '/admin/roles', { key, name: key });
      const id = made.body.data.id as string;
      await place.ask(owner, 'PUT', `/admin/roles/${id}/permissions`, { permissions });
      return id;
    },
    close: async () => {
      await gateway.close();
      await admin.end();
      await database.drop();
    },
  };
  return place;
}

/** `<status> <code>`, or the status alone. */
export const verdict = ({ status, body }: Answer): string =>
  `${status} ${body?.error?.code ?? ''}${body?.error?.missing_permission === undefined ? '' : ` ${body.error.missing_permission}`}`.trim();

/** A session of one of the tenant's people. */
export function signedIn(place: AdminWorld, principalId: string): Promise<{ accessToken: string }> {
  const { tenantId, spaceId } = place.world;
  const of = { tenantId, spaceId, apiKey: place.owner.apiKey, modelAlias: 'builtin' };
  return new SignInMaker(new Maker(() => place.gateway)).session(of, principalId);
}
