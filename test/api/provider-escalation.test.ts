import type { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Permission } from '#domain/foundation/access/permissions.ts';
import { addCustomRole, everything } from '../support/custom-role.ts';
import type { TestDatabase } from '../support/database.ts';
import { verdict, type TestGateway } from '../support/gateway.ts';
import type { IdentityProviderServer } from '../support/identity-provider.ts';
import {
  bearer,
  callback,
  frontend,
  handleOf,
  redeem,
  refresh,
  registerProvider,
  signIn,
  startLogin,
  type RegisteredProvider,
} from '../support/sign-in.ts';
import { openSignInPlace, type SignInPlace } from '../support/sign-in-place.ts';
import { addMember, createWorld, type World } from '../support/world.ts';

let place: SignInPlace;
let database: TestDatabase;
let gateway: TestGateway;
let admin: Client;
let server: IdentityProviderServer;
let world: World;
/** Only `known` identities sign in with it; `ada` is an owner. */
let provider: RegisteredProvider;
let owner: { principalId: string; apiKey: string };
/** Holds `identity_providers.manage` and nothing else. */
let mallory: { principalId: string; apiKey: string };

const all = '/v1/admin/identity-providers';

beforeAll(async () => {
  place = await openSignInPlace();
  ({ database, gateway, server, admin } = place);
});
beforeEach(async () => {
  world = await createWorld(database.unitOfWork);
  provider = await registerProvider(database, world, server, { provisioning: 'known' });
  owner = await addMember(database.unitOfWork, world, { tenantRoles: ['owner'] });
  mallory = await withRole(['identity_providers.manage']);
  expect(verdict(await link(world.apiKey, owner.principalId, 'ada'))).toBe('200');
});
afterAll(async () => {
  await place?.close();
});

const post = (path: string, apiKey: string, body: object) =>
  gateway.send({ method: 'POST', path, apiKey, body });
const patch = (apiKey: string, body: object, id = provider.id) =>
  gateway.send({ method: 'PATCH', path: `${all}/${id}`, apiKey, body });
const link = (apiKey: string, principalId: string, subject: string, id = provider.id) =>
  post(`${all}/${id}/identities`, apiKey, { principal_id: principalId, subject });
let counter = 0;
const register = (apiKey: string, settings: object = {}) =>
  post(all, apiKey, {
    slug: `own-${(counter += 1)}`,
    display_name: 'Own',
    issuer: server.issuer,
    client_id: 'own',
    signing_alg: server.alg,
    redirect_uris: [frontend],
    ...settings,
  });

/** A member of no space, with a role of the tenant's own. */
async function withRole(names: readonly Permission[], keyPermissions: Permission[] | null = null) {
  const { key } = await addCustomRole(admin, world.tenantId, names);
  return addMember(database.unitOfWork, world, { spaceRole: null, tenantRoles: [key], keyPermissions });
}

async function invite(email: string, role = 'space_admin'): Promise<void> {
  const { body } = await gateway.send({
    method: 'GET',
    path: '/v1/admin/roles?limit=100',
    apiKey: world.apiKey,
  });
  const { id } = (body.data as { id: string; key: string }[]).find(({ key }) => key === role)!;
  const made = await post(`/v1/spaces/${world.spaceId}/invites`, world.apiKey, { email, role_id: id });
  expect(made.status, made.text).toBe(201);
}

const eventsOf = async () =>
  (
    await admin.query<{ metadata: Record<string, unknown> }>(
      `select metadata from events where tenant_id = $1 and event_type = 'security.identity_provider_changed' order by id`,
      [world.tenantId],
    )
  ).rows.map(({ metadata }) => metadata);
const tryToSignIn = async (slug: string, sub: string): Promise<string> => {
  const started = await startLogin(gateway, slug);
  return verdict(await callback(gateway, server.authorize(started.address, sub), started.cookie));
};

describe('a principal that manages identity providers and nothing else', () => {
  it('registers none that lets anybody in, whose verified address could accept an invite', async () => {
    await invite('boss@example.com');
    const made = await register(mallory.apiKey, { provisioning: 'automatic' });
    expect(verdict(made)).toMatch(/^403 missing_permission \w/);
  });

  it('registers no such provider for an invite that comes later, nor for the permissions of every new user', async () => {
    expect(verdict(await register(mallory.apiKey, { provisioning: 'automatic' }))).toMatch(/^403/);
    const max = await withRole(everything.filter((name) => name !== 'threads.read_pii'));
    expect(verdict(await register(max.apiKey, { provisioning: 'automatic' }))).toBe(
      '403 missing_permission threads.read_pii',
    );
    await withRole(['tenants.delete']);
    expect(verdict(await register(world.apiKey, { provisioning: 'automatic' }))).toBe('201');
  });

  it('registers one for known identities, and neither opens it to everybody nor links principals with more permissions', async () => {
    const { id } = (await register(mallory.apiKey)).body.data;
    expect(verdict(await patch(mallory.apiKey, { provisioning: 'automatic' }, id))).toMatch(/^403/);
    expect(verdict(await link(mallory.apiKey, owner.principalId, 'mallory', id))).toMatch(/^403/);
    expect(verdict(await link(mallory.apiKey, mallory.principalId, 'mallory', id))).toBe('200');
    // A provider with only its own identity linked stays changeable by it.
    expect(verdict(await patch(mallory.apiKey, { extra_audiences: ['more'] }, id))).toBe('200');
  });

  it.each([
    ['the client', { client_id: 'mallory-app' }],
    ['the client’s secret', { client_secret: 'known-to-mallory' }],
    ['the algorithm', { signing_alg: 'RS256' }],
    ['the audiences', { extra_audiences: ['mallory-app'] }],
    ['where sign-ins lead', { redirect_uris: ['https://mallory.example.com/'] }],
    ['who is let in', { provisioning: 'automatic' }],
    ['the rotation of tokens', { strict_rotation: true }],
    ['two things at once', { display_name: 'Harmless', client_id: 'mallory-app' }],
  ])('does not change %s of a provider that an owner signs in with', async (_, change) => {
    expect(verdict(await patch(mallory.apiKey, change))).toMatch(/^403 missing_permission/);
    const procedure = await gateway.app.inject({
      method: 'POST',
      url: '/api/trpc/identityProviders.update',
      headers: { 'x-api-key': mallory.apiKey },
      payload: { identity_provider_id: provider.id, ...change },
    });
    expect(procedure.statusCode, procedure.body).toBe(403);
    expect(await tryToSignIn(provider.slug, 'ada')).toBe('200');
  });

  it('renames it and disables it, and does not enable it again', async () => {
    expect(verdict(await patch(mallory.apiKey, { display_name: 'People here' }))).toBe('200');
    expect(verdict(await patch(mallory.apiKey, { status: 'disabled' }))).toBe('200');
    expect(verdict(await patch(mallory.apiKey, { status: 'active' }))).toMatch(/^403/);
    expect(verdict(await patch(owner.apiKey, { status: 'active' }))).toBe('200');
  });

  it('is limited by the space and project roles of its identities, and by the invites that they could accept', async () => {
    const second = await register(mallory.apiKey);
    const { id } = second.body.data;
    const spaceMember = await addMember(database.unitOfWork, world, { spaceRole: 'space_viewer' });
    expect(verdict(await link(world.apiKey, spaceMember.principalId, 'joan', id))).toBe('200');
    expect(verdict(await patch(mallory.apiKey, { client_id: 'other' }, id))).toMatch(/^403/);

    const third = (await register(mallory.apiKey)).body.data.id;
    const invited = await addMember(database.unitOfWork, world, { spaceRole: null });
    await admin.query(`update principals set email = 'Ida@example.com' where id = $1`, [invited.principalId]);
    expect(verdict(await link(world.apiKey, invited.principalId, 'ida', third))).toBe('200');
    expect(verdict(await patch(mallory.apiKey, { redirect_uris: [] }, third))).toBe('200');
    await invite('ida@example.com');
    expect(verdict(await patch(mallory.apiKey, { client_id: 'other' }, third))).toMatch(/^403/);
  });
});

it('an identity that was linked before its address was invited accepts no more than the creator of the link has', async () => {
  const { id, slug } = (await register(mallory.apiKey)).body.data;
  const guest = await addMember(database.unitOfWork, world, { spaceRole: null });
  await admin.query(`update principals set email = 'late@example.com' where id = $1`, [guest.principalId]);
  expect(verdict(await link(mallory.apiKey, guest.principalId, 'late', id))).toBe('200');
  await invite('late@example.com');
  const { rows } = await admin.query<{ id: string }>(
    `select id from invites where email = 'late@example.com'`,
  );
  const accept = async (headers: Record<string, string>) => {
    const path = `/v1/spaces/${world.spaceId}/invites/${rows[0]!.id}/accept`;
    return verdict(await gateway.send({ method: 'POST', path, headers }));
  };
  const byMallory = await signIn(gateway, server, slug, 'late');
  expect(await accept(bearer(byMallory.access_token))).toMatch(/^403 missing_permission/);
  expect(verdict(await link(owner.apiKey, guest.principalId, 'late', provider.id))).toBe('200');
  const byOwner = await signIn(gateway, server, provider.slug, 'late');
  expect(await accept(bearer(byOwner.access_token))).toBe('200');
});

describe('a key with restricted permissions', () => {
  it('changes no provider with which its own principal, an owner, signs in', async () => {
    const cut = await withRole(everything, ['identity_providers.manage']);
    expect(verdict(await patch(cut.apiKey, { client_id: 'mallory-app' }))).toMatch(/^403 missing_permission/);
    expect(verdict(await register(cut.apiKey, { provisioning: 'automatic' }))).toMatch(/^403/);
    // New permissions would be granted by an unrestricted key only: a list of all today's permissions is
    // restricted, too.
    const listed = await withRole(everything, [...everything]);
    expect(verdict(await register(listed.apiKey, { provisioning: 'automatic' }))).toMatch(/^403/);
  });

  it('of a service account has the same limits', async () => {
    const account = await withRole(everything, ['identity_providers.manage']);
    await admin.query(`update principals set type = 'service_account' where id = $1`, [account.principalId]);
    expect(verdict(await patch(account.apiKey, { client_id: 'mallory-app' }))).toMatch(/^403/);
  });
});

describe('a provider whose client changes', () => {
  it('has no session, no open sign-in and no identity left, and its event says so', async () => {
    const session = await signIn(gateway, server, provider.slug, 'ada');
    const open = await startLogin(gateway, provider.slug);
    const parked = await startLogin(gateway, provider.slug);
    const back = await callback(gateway, server.authorize(parked.address, 'ada'), parked.cookie);

    expect(verdict(await patch(owner.apiKey, { client_id: 'next-client' }))).toBe('200');
    const own = await gateway.send({
      method: 'GET',
      path: '/v1/sessions',
      headers: bearer(session.access_token),
    });
    expect(verdict(own)).toBe('401 invalid_credentials');
    expect(verdict(await refresh(gateway, session.refresh_token))).toBe('401 invalid_credentials');
    const redeemed = await redeem(gateway, { handle: handleOf(back) }, { cookie: parked.cookie });
    expect(verdict(redeemed)).toBe('401 invalid_credentials');
    const late = await callback(gateway, server.authorize(open.address, 'ada'), open.cookie);
    expect(verdict(late)).toBe('401 login_transaction_required');
    expect(await tryToSignIn(provider.slug, 'ada')).toBe('401 id_token_invalid');
    expect((await eventsOf()).at(-1)).toMatchObject({
      change: 'updated',
      sessions_ended: 1,
      identities_unlinked: 1,
    });
    const all = await gateway.send({ method: 'GET', path: '/v1/admin/sessions', apiKey: owner.apiKey });
    expect(all.body.data).toMatchObject([
      { session_id: session.session_id, status: 'ended', end_reason: 'provider_changed' },
    ]);

    expect(verdict(await link(owner.apiKey, owner.principalId, 'ada'))).toBe('200');
    expect(await tryToSignIn(provider.slug, 'ada')).toBe('200');
  });

  it('leaves sign-ins alone that have expired, of which anybody may have begun very many', async () => {
    const begun = await startLogin(gateway, provider.slug);
    const parked = await startLogin(gateway, provider.slug);
    const back = await callback(gateway, server.authorize(parked.address, 'ada'), parked.cookie);
    await admin.query(
      `insert into login_transactions
         (tenant_id, id, provider_id, state_hash, nonce_hash, cookie_hash, proof, handle_hash, handle_expires_at, expires_at)
       select $1, gen_random_uuid(), $2, 's' || n, 'n' || n, 'c', '', nullif('h' || n, 'h' || n / 2 * 2),
         now() - interval '12 minutes', now() - interval '3 minutes' from generate_series(1, 100) n`,
      [world.tenantId, provider.id],
    );
    expect(verdict(await patch(owner.apiKey, { client_id: 'next-client' }))).toBe('200');
    const { rows } = await admin.query(
      `select expires_at < now() as expired, consumed_at is not null as consumed, handle_hash is not null as handle,
         count(*)::int as n from login_transactions where tenant_id = $1 group by 1, 2, 3 order by 1, 2, 3`,
      [world.tenantId],
    );
    expect(rows).toEqual([
      { expired: false, consumed: true, handle: false, n: 2 },
      { expired: true, consumed: false, handle: false, n: 50 },
      { expired: true, consumed: false, handle: true, n: 50 },
    ]);
    const late = await callback(gateway, server.authorize(begun.address, 'ada'), begun.cookie);
    expect(verdict(late)).toBe('401 login_transaction_required');
    const redeemed = await redeem(gateway, { handle: handleOf(back) }, { cookie: parked.cookie });
    expect(verdict(redeemed)).toBe('401 invalid_credentials');
  });

  it('keeps them when it is set to its present value', async () => {
    await signIn(gateway, server, provider.slug, 'ada');
    const known = (await eventsOf()).length;
    for (let i = 0; i < 2; i += 1) {
      expect(verdict(await patch(owner.apiKey, { client_id: provider.clientId }))).toBe('200');
    }
    expect((await eventsOf()).slice(known)).toMatchObject([{ change: 'confirmed', sessions_ended: 0 }]);
    expect(await tryToSignIn(provider.slug, 'ada')).toBe('200');
  });
});
