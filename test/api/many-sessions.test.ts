import type { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TestDatabase } from '../support/database.ts';
import type { TestGateway } from '../support/gateway.ts';
import type { IdentityProviderServer } from '../support/identity-provider.ts';
import { insertSessions } from '../support/many-sessions.ts';
import { bearer, refresh, registerProvider, signIn, type RegisteredProvider } from '../support/sign-in.ts';
import { openSignInPlace, type SignInPlace } from '../support/sign-in-place.ts';
import { createWorld, type World } from '../support/world.ts';

let place: SignInPlace;
let database: TestDatabase;
let gateway: TestGateway;
let admin: Client;
let server: IdentityProviderServer;
let world: World;
let provider: RegisteredProvider;

beforeAll(async () => {
  place = await openSignInPlace();
  ({ database, gateway, server, admin } = place);
});
beforeEach(async () => {
  world = await createWorld(database.unitOfWork);
  provider = await registerProvider(database, world, server);
});
afterAll(async () => {
  await place?.close();
});

const own = (token: string) =>
  gateway.send({ method: 'GET', path: '/v1/sessions?limit=100', headers: bearer(token) });
const change = (body: object) =>
  gateway.send({
    method: 'PATCH',
    path: `/v1/admin/identity-providers/${provider.id}`,
    apiKey: world.apiKey,
    body,
  });
const principalOf = async (sessionId: string): Promise<string> =>
  (await admin.query<{ id: string }>('select principal_id as id from sessions where id = $1', [sessionId]))
    .rows[0]!.id;
const lastEvent = async (type: string) =>
  (
    await admin.query<{ metadata: Record<string, unknown> }>(
      'select metadata from events where tenant_id = $1 and event_type = $2 order by id desc limit 1',
      [world.tenantId, type],
    )
  ).rows[0]!.metadata;

describe('a principal with a hundred open sessions', () => {
  it('ends the session that was unused for the longest time when it begins another', async () => {
    const first = await signIn(gateway, server, provider.slug);
    const principalId = await principalOf(first.session_id);
    await insertSessions(admin, { tenantId: world.tenantId, principalId, providerId: provider.id }, 99);
    const second = await signIn(gateway, server, provider.slug);
    const { rows } = await admin.query(
      `select end_reason, count(*)::int as n, min(last_used_at) = (select min(last_used_at) from sessions s
         where s.principal_id = $1) as oldest
       from sessions where principal_id = $1 group by 1 order by 1`,
      [principalId],
    );
    expect(rows).toEqual([
      { end_reason: 'superseded', n: 1, oldest: true },
      { end_reason: null, n: 100, oldest: false },
    ]);
    expect((await own(first.access_token)).status).toBe(200);
    const listed = await own(second.access_token);
    expect(listed.status, listed.text).toBe(200);
    expect(await lastEvent('security.login_succeeded')).toMatchObject({ sessions_superseded: 1 });
  });

  it('is deleted with a short statement where an earlier version has let it have very many', async () => {
    const { session_id, access_token } = await signIn(gateway, server, provider.slug);
    const principalId = await principalOf(session_id);
    await insertSessions(admin, { tenantId: world.tenantId, principalId, providerId: provider.id }, 5_000);
    const path = `/v1/admin/principals/${principalId}`;
    expect((await gateway.send({ method: 'DELETE', path, apiKey: world.apiKey })).status).toBe(200);
    expect(await lastEvent('security.principal_deleted')).toMatchObject({ sessions: 200 });
    expect((await own(access_token)).status).toBe(401);
  });
});

describe('a provider with very many sessions', () => {
  it('ends them all without a write for each when it is disabled', async () => {
    const signedIn = await signIn(gateway, server, provider.slug);
    const principalId = await principalOf(signedIn.session_id);
    await insertSessions(admin, { tenantId: world.tenantId, principalId, providerId: provider.id }, 20_000);
    expect((await change({ status: 'disabled' })).status).toBe(200);
    expect(await lastEvent('security.identity_provider_changed')).toMatchObject({ sessions_ended: 10_000 });
    const { rows } = await admin.query(
      'select count(*)::int as written from sessions where provider_id = $1 and ended_at is not null',
      [provider.id],
    );
    expect(rows).toEqual([{ written: 0 }]);
    expect((await own(signedIn.access_token)).status).toBe(401);
    expect((await refresh(gateway, signedIn.refresh_token)).status).toBe(401);
    const open = await database.database.call('open', 'select app.is_session_open($1, $2) as open', [
      world.tenantId,
      signedIn.session_id,
    ]);
    expect(open).toEqual([{ open: false }]);
  });

  it('shows them as ended, ends none of them twice, and accepts those that begin later', async () => {
    const before = await signIn(gateway, server, provider.slug);
    expect((await change({ status: 'disabled' })).status).toBe(200);
    expect((await change({ status: 'active' })).status).toBe(200);
    expect((await own(before.access_token)).status).toBe(401);
    const after = await signIn(gateway, server, provider.slug);
    const listed = (await own(after.access_token)).body.data as Record<string, unknown>[];
    expect(listed.map(({ status, end_reason }) => [status, end_reason])).toEqual([
      ['active', null],
      ['ended', 'provider_disabled'],
    ]);
    expect(listed[1]!['ended_at']).not.toBeNull();
    const ended = await gateway.send({
      method: 'DELETE',
      path: `/v1/sessions/${before.session_id}`,
      headers: bearer(after.access_token),
    });
    expect(ended.body.data).toMatchObject({ status: 'ended', end_reason: 'provider_disabled' });
  });
});
