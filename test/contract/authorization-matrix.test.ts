import type { RouteOptions } from 'fastify';
import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { assemble } from '#api/compose.ts';
import { platformOnly } from '#domain/foundation/access/permissions.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { gatewayConfig, openGateway, type Answer, type Call, type TestGateway } from '../support/gateway.ts';
import { as, identities, type Credential, type Identity } from '../support/identities.ts';
import { goodCall, idFixtures } from '../support/id-fixtures.ts';
import { createPlaces, Maker, type Place } from '../support/places.ts';
import { routesOf } from '../support/routes.ts';
import { SignInMaker } from '../support/sign-in-fixtures.ts';
import { connect } from '../support/tables.ts';
import type { World } from '../support/world.ts';

const prefixes = ['/api', '/api-proxy'] as const;
const table = assemble(gatewayConfig('postgres://nobody@127.0.0.1:1/none'));
/**
 * Every operation that needs a credential, as it is registered. Signing out concerns only the session of its
 * own credential: the tests of sessions cover it.
 */
const routes = (await routesOf(table)).filter(
  ({ config, schema }) => config?.public === undefined && schema?.operationId !== 'signOut',
);
await table.close();
import type { Permission } from '#domain/foundation/access/permissions.ts';

let database: TestDatabase;
let gateway: TestGateway;
let admin: Client;
let world: World;
let here: Place;
let abroad: Place;
let everybody: Identity[];
const maker = new Maker(() => gateway);
const fixtures = idFixtures(maker);

beforeAll(async () => {
  database = await createTestDatabase();
  gateway = await openGateway(database);
  admin = await connect(database.adminUrl);
  ({ world, here, abroad } = await createPlaces(database));
  const signIn = new SignInMaker(maker);
  everybody = identities({ signIn, database, admin, maker: maker.admin, world, here, abroad });
});
afterAll(async () => {
  await gateway?.close();
  await admin?.end();
  await database?.drop();
});

/** Lists that every member may read: each shows only the caller's own rows. */
const ownLists = ['listResponses', 'listApiKeys', 'listSpaces', 'listThreads', 'listOwnInvites'];

/** That the resource of the fixture asks for as well: a connection that is shared by its space. */
const furtherPermissions = new Map<string, Permission>([['deleteConnection', 'mcp_servers.update']]);

/** The caller's own threads require membership of the space. */
const listsOwn = (id: string, { name }: Identity): boolean =>
  ownLists.includes(id) && (id !== 'listThreads' || name.startsWith('member'));

const idOf = (route: RouteOptions): string => route.schema!.operationId!;

/** Rows visible only to their reader are created separately for each identity. */
const isPersonal = ({ url }: RouteOptions): boolean =>
  url.includes(':notification_id') || url.endsWith('/mcp-auth/complete');

/** A valid request about this tenant's resources, from any caller. */
async function callOf(route: RouteOptions, { apiKey }: Credential = {}): Promise<Call> {
  await restoreTenant();
  await restoreSpace();
  const place = isPersonal(route) && apiKey !== undefined ? { ...here, apiKey } : here;
  const call = await goodCall({ fixtures, maker }, idOf(route), place);
  const path = idOf(route) === 'deleteSpace' ? `/v1/spaces/${here.spaceId}` : call.path;
  return { ...call, path: path.replace(/(\/admin\/tenants\/)[^/?]+/, `$1${here.tenantId}`) };
}

/** A space that one identity was permitted to delete would be unknown to all others. */
async function restoreSpace(): Promise<void> {
  await admin.query('delete from erasures where root_id = $1', [here.spaceId]);
  await admin.query('update spaces set deleted_at = null where id = $1', [here.spaceId]);
}

/** A deletion that one identity was permitted to request would refuse all others. */
async function restoreTenant(): Promise<void> {
  await admin.query(
    `update app.tenant_deletions set status = 'cancelled', ended_at = now()
     where tenant_id = $1 and status = 'deletion_scheduled'`,
    [here.tenantId],
  );
  await admin.query(
    `update tenants set status = 'active' where tenant_id = $1 and status = 'deletion_scheduled'`,
    [here.tenantId],
  );
}

interface Cell {
  route: RouteOptions;
  identity: Identity;
  credential: Credential;
}

/** The expected `<status> <code>`, and the relevant part of the answer. */
function expected({ route, identity }: Cell): string {
  const { permission, own } = route.config!;
  const outcome = identity.outcome(route);
  switch (outcome.kind) {
    case 'unauthenticated':
      return `401 ${outcome.code}`;
    case 'foreign':
      if (permission !== undefined && platformOnly.has(permission) && !route.url.includes(':')) {
        return `403 missing_permission ${permission}`;
      }
      return route.url.includes(':') || ['createApiKey', 'completeConnection'].includes(idOf(route))
        ? '404'
        : '2xx, nothing of here';
    case 'known':
      if (permission === undefined) {
        return own === 'one’s own invites' ? '403 invite_identity_mismatch' : '2xx';
      }
      if (outcome.held.has(permission)) {
        const further = furtherPermissions.get(idOf(route)) ?? permission;
        return outcome.held.has(further) ? '2xx' : `403 missing_permission ${further}`;
      }
      return listsOwn(idOf(route), identity) ? '2xx, own' : `403 missing_permission ${permission}`;
  }
}

async function found(cell: Cell, answer: Answer, wanted: string): Promise<string> {
  const { status, body } = answer;
  const error = body?.error as Record<string, string | undefined> | undefined;
  if (status < 300) {
    if (wanted === '2xx, nothing of here') {
      return (await namesThisTenant(answer.text)) ? '2xx, with things of here' : wanted;
    }
    if (wanted === '2xx, own') {
      const rows = body.data as Record<string, string>[];
      const others = await notOwn(cell, rows);
      return others === 0 ? wanted : `2xx, ${others} rows of others`;
    }
    return '2xx';
  }
  if (wanted === '404') {
    return status === 404 ? wanted : `${status} ${String(error?.['code'])}`;
  }
  const missing = error?.['missing_permission'];
  return `${status} ${String(error?.['code'])}${missing === undefined ? '' : ` ${missing}`}`;
}

/** How many rows of a list belong to others. */
async function notOwn({ route, credential }: Cell, rows: Record<string, string>[]): Promise<number> {
  const { principalId } = credential;
  switch (idOf(route)) {
    case 'listApiKeys':
      return rows.filter((row) => row['principal_id'] !== principalId).length;
    case 'listThreads':
      return rows.filter((row) => row['created_by'] !== principalId).length;
    case 'listOwnInvites': {
      const { rowCount } = await admin.query(
        `select from invites i where i.id = any ($2::uuid[]) and not exists (
           select from principals p where p.id = $1 and lower(p.email) = lower(i.email))`,
        [principalId, rows.map((row) => row['id'])],
      );
      return rowCount ?? 0;
    }
    case 'listSpaces':
      return rows.filter((row) => row['id'] !== here.spaceId).length;
    default: {
      const { rowCount } = await admin.query(
        'select from responses where principal_id <> $1 and id = any ($2)',
        [principalId, rows.map((row) => row['id'])],
      );
      return rowCount ?? 0;
    }
  }
}

/** Whether an answer holds the id of anything of this tenant. */
async function namesThisTenant(text: string): Promise<boolean> {
  const { rows } = await admin.query<{ id: string }>(
    `select tenant_id::text as id from tenants where tenant_id = $1
     union all select id::text from principals where tenant_id = $1
     union all select id::text from roles where tenant_id = $1
     union all select id::text from api_keys where tenant_id = $1
     union all select id::text from spaces where tenant_id = $1
     union all select id::text from models where tenant_id = $1`,
    [here.tenantId],
  );
  return rows.some(({ id }) => text.includes(id));
}

describe('the authorisation matrix', () => {
  it('has twelve identities, and every operation of the route table', () => {
    expect(everybody).toHaveLength(12);
    expect(routes.length).toBeGreaterThan(70);
    const described = gateway.description.operations.map(({ id }) => id);
    expect(routes.map(idOf).filter((id) => !described.includes(id))).toEqual([]);
  });

  it.each(routes.map((route) => [idOf(route), route] as const))(
    '%s answers each of them as expected, under both prefixes',
    async (_operation, route) => {
      const cells: Record<string, string> = {};
      const right: Record<string, string> = {};
      // One request serves all refused callers, since it has no effect.
      let call = await callOf(route);
      for (const identity of everybody) {
        const credential = await identity.credential(route.config!.permission);
        const cell = { route, identity, credential };
        const wanted = expected(cell);
        if (isPersonal(route)) {
          call = await callOf(route, credential);
        }
        for (const prefix of prefixes) {
          const answer = await gateway.send({ ...as(credential, call), prefix });
          cells[`${prefix} ${identity.name}`] = await found(cell, answer, wanted);
          right[`${prefix} ${identity.name}`] = wanted;
          if (answer.status < 300) {
            call = await callOf(route, credential);
          }
        }
      }
      expect(cells).toEqual(right);
      if (route.config!.permission !== undefined && !platformOnly.has(route.config!.permission)) {
        expect(Object.values(cells), 'nobody is let in').toContain('2xx');
      }
    },
    30_000,
  );
});
