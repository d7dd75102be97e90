import type { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Permission } from '#domain/foundation/access/permissions.ts';
import { builtInRoleId } from '#domain/identity/roles/role-ids.ts';
import type { Person } from '../support/admin-world.ts';
import { addCustomRole, everything } from '../support/custom-role.ts';
import type { TestDatabase } from '../support/database.ts';
import { verdict, type Answer, type TestGateway } from '../support/gateway.ts';
import type { IdentityProviderServer } from '../support/identity-provider.ts';
import {
  bearer,
  callback,
  frontend,
  redeem,
  registerProvider,
  signIn,
  startLogin,
} from '../support/sign-in.ts';
import { openSignInPlace, type SignInPlace } from '../support/sign-in-place.ts';
import { addMember, createWorld, type World } from '../support/world.ts';

let place: SignInPlace;
let database: TestDatabase;
let gateway: TestGateway;
let admin: Client;
let server: IdentityProviderServer;
let world: World;
/** Registers `provider`, and holds all that a new user of it could get by a role of its own. */
let manager: Person;
let managersRole: string;
/** Provisions automatically; `ada` has signed in. */
let provider: { id: string; slug: string };

const all = '/v1/admin/identity-providers';
const unconfirmed = '403 identity_provider_unconfirmed';

beforeAll(async () => {
  place = await openSignInPlace();
  ({ database, gateway, server, admin } = place);
});
beforeEach(async () => {
  world = await createWorld(database.unitOfWork);
  managersRole = await addRole(everything.filter((name) => name !== 'tenants.delete'));
  manager = await holderOf(managersRole);
  const made = await register(manager);
  expect(made.status, made.text).toBe(201);
  provider = made.body.data;
  expect(made.body.data.confirmed_by).toBe(manager.principalId);
  await signIn(gateway, server, provider.slug, 'ada');
});
afterAll(async () => {
  await place?.close();
});

const owner = (): Person => ({ principalId: world.owner.principalId, apiKey: world.apiKey });
const ask = ({ apiKey }: Person, method: string, path: string, body?: object) =>
  gateway.send({ method, path, apiKey, ...(body && { body }) });
const update = (who: Person, body: object) => ask(who, 'PATCH', `${all}/${provider.id}`, body);
const confirm = (who: Person) => update(who, { provisioning: 'automatic' });
const confirmedBy = async (): Promise<string | null> =>
  (await ask(owner(), 'GET', `${all}/${provider.id}`)).body.data.confirmed_by;

let counter = 0;
function register(who: Person, settings: object = {}): Promise<Answer> {
  counter += 1;
  return ask(who, 'POST', all, {
    slug: `company-${process.pid}-${counter}`,
    display_name: 'Company',
    issuer: server.issuer,
    client_id: 'client',
    client_secret: 'upstream-client-secret',
    signing_alg: server.alg,
    redirect_uris: [frontend],
    provisioning: 'automatic',
    ...settings,
  });
}

const addRole = async (names: readonly Permission[]): Promise<string> =>
  (await addCustomRole(admin, world.tenantId, names)).key;

const holderOf = (role: string, keyPermissions: Permission[] | null = null): Promise<Person> =>
  addMember(database.unitOfWork, world, { spaceRole: null, tenantRoles: [role], keyPermissions });

async function invite(email: string, roleId = builtInRoleId('space_admin')): Promise<string> {
  const made = await ask(owner(), 'POST', `/v1/spaces/${world.spaceId}/invites`, { email, role_id: roleId });
  expect(made.status, made.text).toBe(201);
  return made.body.data.id;
}

const accept = async (token: string, inviteId: string): Promise<string> =>
  verdict(
    await gateway.send({
      method: 'POST',
      path: `/v1/spaces/${world.spaceId}/invites/${inviteId}/accept`,
      headers: bearer(token),
    }),
  );

/** By the browser. */
async function come(sub: string, slug = provider.slug): Promise<string> {
  const started = await startLogin(gateway, slug);
  return verdict(await callback(gateway, server.authorize(started.address, sub), started.cookie));
}

/** By an ID token of the client's own. */
async function bring(sub: string): Promise<string> {
  const { nonce } = await startLogin(gateway, provider.slug);
  const idToken = await server.idToken({ nonce, sub, clientId: 'client' });
  return verdict(await redeem(gateway, { provider_id: provider.slug, id_token: idToken }));
}

const countPrincipals = async (): Promise<number> =>
  (
    await admin.query<{ n: number }>('select count(*)::int as n from principals where tenant_id = $1', [
      world.tenantId,
    ])
  ).rows[0]!.n;

const eventsOf = async (type: string) =>
  (
    await admin.query<{ actor_id: string | null; resource_id: string; metadata: Record<string, unknown> }>(
      'select actor_id, resource_id, metadata from events where tenant_id = $1 and event_type = $2 order by id',
      [world.tenantId, type],
    )
  ).rows;

const takeRole = () =>
  admin.query('delete from role_assignments where tenant_id = $1 and principal_id = $2', [
    world.tenantId,
    manager.principalId,
  ]);
const setStatus = (status: string, { principalId } = manager) =>
  ask(owner(), 'PATCH', `/v1/admin/principals/${principalId}`, { status });
/** Takes the permissions that begin like this from the manager's role. */
const without = (beginning: string) =>
  admin.query(
    `update roles set permissions = array(select name from unnest(permissions) name where not starts_with(name, $3))
     where tenant_id = $1 and key = $2`,
    [world.tenantId, managersRole, beginning],
  );

describe('a provider whose manager may no longer admit everybody', () => {
  it.each<[string, () => Promise<unknown>]>([
    ['lost its role', takeRole],
    ['is disabled', () => setStatus('disabled')],
    ['is deleted', () => ask(owner(), 'DELETE', `/v1/admin/principals/${manager.principalId}`)],
    ['lacks one permission of spaces', () => without('threads.read_pii')],
    ['lacks a permission of new users', () => without('skills.')],
  ])('admits no new user when it %s, and goes on with those that it has', async (_what, lose) => {
    expect(await come('grace')).toBe('200');
    await lose();
    const before = await countPrincipals();
    expect(await come('eve')).toBe(unconfirmed);
    expect(await bring('eve')).toBe(unconfirmed);
    expect(await countPrincipals()).toBe(before);
    expect(await come('ada')).toBe('200');
    expect(await bring('grace')).toBe('200');
  });

  it('admits none while an invite of a space that is there grants what the manager lacks', async () => {
    const late = await addCustomRole(admin, world.tenantId, ['tenants.delete']);
    expect(await come('grace')).toBe('200');
    await invite('late@example.com', late.id);
    expect(await come('eve')).toBe(unconfirmed);
    expect((await ask(owner(), 'DELETE', `/v1/spaces/${world.spaceId}`)).status).toBe(200);
    expect(await come('eve')).toBe('200');
  });

  it('admits them again when the manager has its rights back', async () => {
    await setStatus('disabled');
    expect(await come('eve')).toBe(unconfirmed);
    await setStatus('active');
    expect(await come('eve')).toBe('200');
  });

  it('is an event for the administrators once a day, and each sign-in a failed one', async () => {
    await takeRole();
    expect(await come('eve')).toBe(unconfirmed);
    expect(await bring('eve')).toBe(unconfirmed);
    expect(await eventsOf('security.identity_provider_unconfirmed')).toMatchObject([
      { actor_id: null, resource_id: provider.id, metadata: { slug: provider.slug, outcome: 'denied' } },
    ]);
    const failed = await eventsOf('security.login_failed');
    expect(failed.map(({ metadata }) => metadata['reason'])).toEqual([
      'provider_unconfirmed',
      'provider_unconfirmed',
    ]);
  });

  it('leaves other providers and other tenants alone', async () => {
    const second = (await register(owner(), { client_id: 'second' })).body.data;
    const other = await createWorld(database.unitOfWork);
    const elsewhere = await registerProvider(database, other, server);
    await takeRole();
    expect(await come('eve', second.slug)).toBe('200');
    expect(await come('eve', elsewhere.slug)).toBe('200');
    expect(await come('eve')).toBe(unconfirmed);
  });
});

describe('a provider is confirmed', () => {
  beforeEach(async () => {
    await takeRole();
  });

  it.each<[string, object]>([
    ['its provisioning', { provisioning: 'automatic' }],
    ['that it is active', { status: 'active' }],
    ['its client', { client_id: 'client' }],
    ['its addresses', { redirect_uris: [frontend] }],
  ])('by another manager that repeats %s', async (_what, body) => {
    const [, ...known] = await eventsOf('security.identity_provider_changed');
    expect(known).toEqual([]);
    const next = await holderOf('admin');
    const answer = await update(next, body);
    expect(answer.body.data).toMatchObject({ confirmed_by: next.principalId, provisioning: 'automatic' });
    expect(await come('eve')).toBe('200');
    expect(await come('ada')).toBe('200');
    expect((await update(next, body)).body).toEqual(answer.body);
    const [, confirmed, ...others] = await eventsOf('security.identity_provider_changed');
    expect(confirmed).toMatchObject({
      actor_id: next.principalId,
      metadata: { change: 'confirmed', changed_fields: ['confirmedBy'], sessions_ended: 0 },
    });
    expect(others).toEqual([]);
  });

  it('by another manager that changes a setting, also by a procedure', async () => {
    const next = await holderOf('admin');
    const answer = await gateway.app.inject({
      method: 'POST',
      url: '/api/trpc/identityProviders.update',
      headers: { 'x-api-key': next.apiKey },
      payload: { identity_provider_id: provider.id, strict_rotation: true },
    });
    expect(answer.statusCode, answer.body).toBe(200);
    expect(await confirmedBy()).toBe(next.principalId);
    expect(await come('eve')).toBe('200');
  });

  it('neither by a new name, nor by disabling it, nor by an empty change', async () => {
    const next = await holderOf('admin');
    for (const body of [{ display_name: 'Everybody' }, { status: 'disabled' }, {}]) {
      expect(verdict(await update(next, body))).toBe('200');
    }
    expect(await confirmedBy()).toBe(manager.principalId);
    // What lets people in again confirms it.
    expect(verdict(await update(next, { status: 'active' }))).toBe('200');
    expect(await confirmedBy()).toBe(next.principalId);
  });

  it('neither by a manager that lacks a permission, nor with a restricted key', async () => {
    const lesser = await holderOf(await addRole(['identity_providers.manage']));
    const cut = await holderOf('admin', ['identity_providers.manage']);
    for (const who of [lesser, cut]) {
      expect(verdict(await confirm(who))).toMatch(/^403 missing_permission \w/);
      expect(verdict(await update(who, { status: 'active' }))).toMatch(/^403 missing_permission \w/);
    }
    expect(await confirmedBy()).toBe(manager.principalId);
    expect(await come('eve')).toBe(unconfirmed);
  });

  it('neither by another tenant, nor by a request that is refused, nor by naming who does it', async () => {
    const stranger = await createWorld(database.unitOfWork);
    const strangersKey = { principalId: stranger.owner.principalId, apiKey: stranger.apiKey };
    expect(verdict(await confirm(strangersKey))).toBe('404 identity_provider_not_found');
    expect(verdict(await update(owner(), { provisioning: 'anybody' }))).toMatch(/^422/);
    expect(verdict(await update(owner(), { provisioning: 'automatic', confirmed_by: null }))).toBe(
      '422 unknown_parameter',
    );
    expect(verdict(await register(owner(), { confirmed_by: owner().principalId }))).toBe(
      '422 unknown_parameter',
    );
    expect(await confirmedBy()).toBe(manager.principalId);
    expect(await come('eve')).toBe(unconfirmed);
  });
});

describe('a provider without a confirmation, or without automatic provisioning,', () => {
  it('of the operator, or of the version before, admits new users, until a principal confirms it', async () => {
    const { id, slug } = await registerProvider(database, world, server);
    provider = { id, slug };
    expect(await confirmedBy()).toBeNull();
    expect(await come('eve')).toBe('200');
    expect(verdict(await update(manager, { display_name: 'Everybody' }))).toBe('200');
    expect(await confirmedBy()).toBeNull();
    expect(verdict(await update(manager, { strict_rotation: true }))).toBe('200');
    expect(await confirmedBy()).toBe(manager.principalId);
    await takeRole();
    expect(await come('mallory')).toBe(unconfirmed);
  });

  it('lets known identities in, also after the principal that registered it is disabled', async () => {
    const lesser = await holderOf(await addRole(['identity_providers.manage']));
    provider = (await register(lesser, { provisioning: 'known' })).body.data;
    const link = { principal_id: owner().principalId, subject: 'joan' };
    await admin.query(`update principals set type = 'user' where id = $1`, [owner().principalId]);
    expect(verdict(await ask(owner(), 'POST', `${all}/${provider.id}/identities`, link))).toBe('200');
    await setStatus('disabled', lesser);
    expect(await come('joan')).toBe('200');
    expect(await come('eve')).toBe('401 id_token_invalid');
    expect(await eventsOf('security.identity_provider_unconfirmed')).toEqual([]);
  });
});

describe('an identity of a provider', () => {
  it('accepts no invite with permissions that the manager of the provider lost, until another one confirms it', async () => {
    const { access_token: token } = await signIn(gateway, server, provider.slug, 'ada');
    const inviteId = await invite('ada@example.com');
    await takeRole();
    expect(await accept(token, inviteId)).toMatch(/^403 missing_permission \w/);
    expect(verdict(await confirm(await holderOf('admin')))).toBe('200');
    expect(await accept(token, inviteId)).toBe('200');
  });

  it('makes keys that the manager of the provider may know, too', async () => {
    const { access_token: token } = await signIn(gateway, server, provider.slug, 'ada');
    const made = await gateway.send({
      method: 'POST',
      path: '/v1/admin/api-keys',
      headers: bearer(token),
      body: { name: 'own' },
    });
    expect(made.status, made.text).toBe(201);
    const inviteId = await invite('ada@example.com');
    await setStatus('disabled');
    const answer = await gateway.send({
      method: 'POST',
      path: `/v1/spaces/${world.spaceId}/invites/${inviteId}/accept`,
      apiKey: made.body.data.api_key,
    });
    expect(verdict(answer)).toMatch(/^403 missing_permission \w/);
  });

  it('that is the manager’s own accepts the manager’s own invites', async () => {
    const link = { principal_id: manager.principalId, subject: 'boss' };
    expect(verdict(await ask(manager, 'POST', `${all}/${provider.id}/identities`, link))).toBe('200');
    await admin.query(`update principals set email = 'boss@example.com' where id = $1`, [
      manager.principalId,
    ]);
    await takeRole();
    const { access_token: token } = await signIn(gateway, server, provider.slug, 'boss');
    expect(await accept(token, await invite('boss@example.com', builtInRoleId('space_viewer')))).toBe('200');
  });
});
