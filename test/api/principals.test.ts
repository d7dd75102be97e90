import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { builtInRoleId } from '#domain/identity/roles/role-ids.ts';
import { openAdminWorld, signedIn, verdict, type AdminWorld, type Person } from '../support/admin-world.ts';
import { addOperator } from '../support/operators.ts';
import { insertKeys } from '../support/many-keys.ts';
import { untilBlocked } from '../support/tables.ts';

let place: AdminWorld;
beforeAll(async () => {
  place = await openAdminWorld();
});
afterAll(() => place?.close());

/** How many principals that are deleted have a key of their own left. */
async function keysOfDeleted(): Promise<number> {
  const { rows } = await place.admin.query<{ n: number }>(
    `select count(*)::int as n from data_keys k join principals p on p.id = k.principal_id where p.deleted_at is not null`,
  );
  return rows[0]!.n;
}

/** Begins a transaction that changes of principals wait for. */
async function holdLine(): Promise<void> {
  await place.admin.query('begin');
  await place.admin.query('select from tenants where tenant_id = $1 for no key update', [
    place.world.tenantId,
  ]);
}

const own = (method: string, path: string, body?: object) => place.ask(place.owner, method, path, body);

/** A gateway that caches a key is notified within a second that it has ended. */
const untilRefused = (who: Person) =>
  expect
    .poll(async () => verdict(await place.ask(who, 'GET', place.inSpace(''))), {
      timeout: 1_000,
      interval: 10,
    })
    .toBe('401 invalid_credentials');

describe('a principal', () => {
  it.each(['user', 'service_account', 'agent'])('of type %s is created by its type alone', async (type) => {
    const made = await own('POST', '/admin/principals', { type });
    expect(made.status).toBe(201);
    expect(made.body.data).toMatchObject({ type, name: null, email: null, status: 'active' });
    expect(await place.eventsOf(made.body.data.id)).toEqual(['security.principal_created']);
  });

  it('is renamed, but cannot be given another address', async () => {
    const { body } = await own('POST', '/admin/principals', { type: 'user', email: 'ada@example.com' });
    const path = `/admin/principals/${body.data.id}`;
    const named = await own('PATCH', path, { name: 'Ada' });
    expect(named.body.data).toMatchObject({ name: 'Ada', email: 'ada@example.com' });
    expect(verdict(await own('PATCH', path, { email: 'eve@example.com' }))).toBe('422 unknown_parameter');
    expect((await own('GET', path)).body.data).toEqual(named.body.data);
  });

  it('that is disabled is refused everything, until it is active again', async () => {
    const member = await place.person();
    const path = `/admin/principals/${member.principalId}`;
    const look = () => place.ask(member, 'GET', place.inSpace(''));
    expect((await look()).status).toBe(200);
    expect((await own('PATCH', path, { status: 'disabled' })).body.data.status).toBe('disabled');
    expect(verdict(await look())).toBe('403 principal_disabled');
    await own('PATCH', path, { status: 'active' });
    expect((await look()).status).toBe(200);
  });

  it('that is deleted has no keys, roles, memberships or name from that moment; its id stays in the log', async () => {
    const leaver = await place.person({ email: 'lea@example.com', tenantRoles: ['auditor'] });
    const { principalId: id } = leaver;
    const project = await own('POST', place.inSpace('/projects'), { name: 'Pier' });
    const members = place.inSpace(`/projects/${project.body.data.id}/members`);
    await own('POST', members, { principal_id: id, role_id: builtInRoleId('project_editor') });
    await place.ask(leaver, 'POST', place.inSpace('/responses'), { input: { text: 'A?' } });
    const { accessToken } = await signedIn(place, id);
    const byToken = () =>
      place.gateway.send({
        method: 'GET',
        path: `/v1${place.inSpace('')}`,
        headers: { authorization: `Bearer ${accessToken}` },
      });
    expect((await byToken()).status).toBe(200);
    expect((await own('DELETE', `/admin/principals/${id}`)).body).toEqual({ data: { id, deleted: true } });
    expect(verdict(await byToken())).toBe('401 invalid_credentials');
    await untilRefused(leaver);
    for (const path of ['', '/roles']) {
      expect(verdict(await own('GET', `/admin/principals/${id}${path}`))).toBe('404 principal_not_found');
    }
    const again = await own('DELETE', `/admin/principals/${id}`);
    expect(verdict(again)).toBe('404 principal_not_found');
    for (const [list, member] of [
      ['/admin/principals', 'id'],
      [place.inSpace('/members'), 'principal_id'],
      [members, 'principal_id'],
    ] as const) {
      const { body } = await own('GET', `${list}?limit=100`);
      expect(body.data.map((row: Record<string, string>) => row[member])).not.toContain(id);
    }
    const { rows } = await place.admin.query(
      `select p.name, p.email, p.deleted_at is not null as deleted,
         (select count(*)::int from api_keys k where k.principal_id = p.id and k.revoked_at is null) as keys,
         (select count(*)::int from role_assignments a where a.principal_id = p.id) as roles,
         (select metadata - '{request_id,actor_type,ip}'::text[] from events where resource_id = p.id::text and event_type = 'security.principal_deleted') as notified
       from principals p where p.id = $1`,
      [id],
    );
    const notified = {
      outcome: 'success',
      via: 'api',
      principal_type: 'user',
      api_keys: 1,
      sessions: 1,
      roles: 1,
      spaces: 1,
    };
    expect(rows).toEqual([{ name: null, email: null, deleted: true, keys: 0, roles: 0, notified }]);
  });

  it('that has very many keys is deleted with a short statement, and none of them is accepted', async () => {
    const leaver = await place.person();
    const of = { tenantId: place.world.tenantId, principalId: leaver.principalId };
    await insertKeys(place.admin, of, { count: 30_000, prefix: 'leaver' });
    expect((await own('DELETE', `/admin/principals/${leaver.principalId}`)).status).toBe(200);
    const { rows } = await place.admin.query(
      `select (select (metadata ->> 'api_keys')::int from events
               where resource_id = $1 and event_type = 'security.principal_deleted') <= 2000 as bounded,
         (select count(*)::int from api_keys k, app.find_credential(k.key_id) c
          where k.principal_id::text = $1 and c.usable) as usable`,
      [leaver.principalId],
    );
    expect(rows).toEqual([{ bounded: true, usable: 0 }]);
    await untilRefused(leaver);
  });

  it('has at most 1,000 keys that are neither revoked nor expired', async () => {
    const maker = await place.person();
    const create = () =>
      place.ask(maker, 'POST', '/admin/api-keys', { name: 'more', principal_id: maker.principalId });
    const of = { tenantId: place.world.tenantId, principalId: maker.principalId };
    await insertKeys(place.admin, of, { count: 998, prefix: 'maker' });
    expect((await create()).status).toBe(201);
    const refused = await create();
    expect(verdict(refused)).toBe('409 invalid_state');
    expect(refused.body.error.message).toContain('1000 keys');
    await place.admin.query(`update api_keys set revoked_at = now() where key_id = 'maker00000000001'`);
    expect((await create()).status).toBe(201);
    expect(verdict(await create())).toBe('409 invalid_state');
    await place.admin.query(`update api_keys set expires_at = now() where key_id = 'maker00000000002'`);
    expect((await create()).status).toBe(201);
  });

  it('deletes another while it is deleted itself: all wait in one queue, also with invites', async () => {
    for (let round = 0; round < 5; round += 1) {
      const circle = await Promise.all(
        [1, 2, 3].map((n) =>
          place.person({ email: `circle${round}${n}@example.com`, tenantRoles: ['owner'] }),
        ),
      );
      for (const [n, who] of circle.entries()) {
        await place.ask(who, 'POST', place.inSpace('/invites'), {
          email: `circle${round}${((n + 1) % 3) + 1}@example.com`,
        });
      }
      await holdLine();
      const answers = circle.map((who, n) =>
        place.ask(who, 'DELETE', `/admin/principals/${circle[(n + 1) % 3]!.principalId}`),
      );
      await untilBlocked(place.admin, 3);
      await place.admin.query('commit');
      // A principal deleted by the first has no permissions any more; the third deletes the first.
      const verdicts = (await Promise.all(answers)).map(verdict);
      expect(verdicts.toSorted()).toEqual(['200', '200', '401 invalid_credentials']);
      const { rows } = await place.admin.query(
        `select e.event_type from events e join events gone on gone.resource_id = e.actor_id::text
         where gone.event_type = 'security.principal_deleted' and e.id > gone.id`,
      );
      expect(rows, 'of whoever is gone').toEqual([]);
      expect(await keysOfDeleted()).toBe(0);
    }
  });

  it('of a tenant without an owner waits in that queue, too', async () => {
    const [one, other] = [
      await addOperator(place.database.unitOfWork),
      await addOperator(place.database.unitOfWork),
    ];
    const ids = [one.principalId, other.principalId];
    await place.admin.query('begin');
    await place.admin.query('select from principals where id = any ($1) for update', [ids]);
    const answers = [
      place.ask(one, 'DELETE', `/admin/principals/${other.principalId}`),
      place.ask(other, 'DELETE', `/admin/principals/${one.principalId}`),
    ];
    await untilBlocked(place.admin, 2);
    await place.admin.query('commit');
    const verdicts = (await Promise.all(answers)).map(verdict);
    expect(verdicts.toSorted()).toEqual(['200', '401 invalid_credentials']);
  });

  it('that deletes itself, or is deleted while it acts, leaves no key of its sealed data', async () => {
    const self = await place.person({ tenantRoles: ['owner'] });
    const gone = await place.ask(self, 'DELETE', `/admin/principals/${self.principalId}`);
    expect(gone.status).toBe(200);
    expect(await place.eventsOf(self.principalId)).toEqual(['security.principal_deleted']);
    const amid = await place.person({ spaceRole: 'space_admin' });
    await place.admin.query('begin');
    await place.admin.query('select from principals where id = $1 for update', [amid.principalId]);
    const acting = place.ask(amid, 'POST', place.inSpace('/collections'), { name: 'Tides' });
    await untilBlocked(place.admin);
    await place.admin.query(
      `update principals set status = 'disabled', deleted_at = now(), name = null where id = $1`,
      [amid.principalId],
    );
    await place.admin.query('commit');
    expect(verdict(await acting)).toBe('401 invalid_credentials');
    expect(await keysOfDeleted()).toBe(0);
  });

  it('whose rights are taken from it while it waits to use them is refused', async () => {
    const [taker, other] = [
      await place.person({ tenantRoles: ['owner'] }),
      await place.person({ tenantRoles: ['owner'] }),
    ];
    const theirs = `/admin/principals/${other.principalId}`;
    for (const [method, path, body] of [
      ['DELETE', theirs],
      ['PATCH', theirs, { status: 'disabled' }],
      ['PATCH', theirs, { name: 'Bo' }],
      ['DELETE', `${theirs}/roles/${builtInRoleId('owner')}`],
    ] as const) {
      await holdLine();
      const acting = place.ask(taker, method, path, body);
      await untilBlocked(place.admin);
      await place.admin.query('delete from role_assignments where principal_id = $1', [taker.principalId]);
      await place.admin.query('commit');
      expect(verdict(await acting)).toMatch('403 missing_permission');
      await own('PUT', `/admin/principals/${taker.principalId}/roles/${builtInRoleId('owner')}`);
    }
  });

  it.each([
    ['a key that is revoked', 'update api_keys set revoked_at = now()', '401 invalid_credentials'],
    ['a key that runs out', 'update api_keys set expires_at = now()', '401 invalid_credentials'],
    [
      'a key that is cut down',
      `update api_keys set permissions = '{principals.read}'`,
      '403 missing_permission principals.delete',
    ],
    [
      'a session that ends',
      `update sessions set ended_at = now(), end_reason = 'revoked'`,
      '401 invalid_credentials',
    ],
    ['a session that goes on', 'update sessions set last_used_at = now()', '200'],
  ])('acts with the permissions of its credential at its turn: %s', async (what, change, outcome) => {
    const taker = await place.person({ tenantRoles: ['owner'] });
    const { principalId } = await place.person();
    const { accessToken } = await signedIn(place, taker.principalId);
    const token = what.startsWith('a key') ? taker.apiKey : accessToken;
    await holdLine();
    const acting = place.gateway.send({
      method: 'DELETE',
      path: `/v1/admin/principals/${principalId}`,
      headers: { authorization: `Bearer ${token}` },
    });
    await untilBlocked(place.admin);
    await place.admin.query(`${change} where principal_id = $1`, [taker.principalId]);
    await place.admin.query('commit');
    expect(verdict(await acting)).toBe(outcome);
  });

  it('that is deleted receives no roles any more', async () => {
    const { principalId } = await place.person({ spaceRole: null });
    await own('DELETE', `/admin/principals/${principalId}`);
    const refused = [
      await own('POST', '/admin/api-keys', { principal_id: principalId, name: 'late' }),
      await own('POST', place.inSpace('/members'), { principal_id: principalId }),
      await own('PUT', `/admin/principals/${principalId}/roles/${builtInRoleId('member')}`),
      await own('PATCH', `/admin/principals/${principalId}`, { status: 'active' }),
    ];
    expect(refused.map(verdict)).toEqual(Array.from({ length: 4 }, () => '404 principal_not_found'));
  });
});

describe('an API key', () => {
  it('is shown once, listed without its secret, and refused within a second of its revocation', async () => {
    const { principalId } = await place.person();
    const made = await own('POST', '/admin/api-keys', { principal_id: principalId, name: 'crane' });
    expect(made.status).toBe(201);
    const { id, api_key: apiKey } = made.body.data;
    const mine = { principalId, apiKey };
    expect((await place.ask(mine, 'GET', place.inSpace(''))).status).toBe(200);
    const list = await own('GET', '/admin/api-keys?limit=100');
    expect(list.text).not.toContain(apiKey.split('.')[2]);
    expect(list.body.data.map((row: { id: string }) => row.id)).toContain(id);
    const revoked = await own('DELETE', `/admin/api-keys/${id}`);
    expect(revoked.body.data.revoked_at).not.toBeNull();
    expect((await own('DELETE', `/admin/api-keys/${id}`)).body).toEqual(revoked.body);
    await untilRefused(mine);
    expect(await place.eventsOf(id)).toEqual(['security.api_key_created', 'security.api_key_revoked']);
  });

  it('is revoked once by five concurrent requests', async () => {
    const { principalId } = await place.person();
    const made = await own('POST', '/admin/api-keys', { principal_id: principalId, name: 'five' });
    const path = `/admin/api-keys/${made.body.data.id}`;
    const answers = await Promise.all(Array.from({ length: 5 }, () => own('DELETE', path)));
    expect(new Set(answers.map(({ body }) => body.data.revoked_at)).size).toBe(1);
    expect(answers[0]!.body.data.revoked_at).not.toBeNull();
    expect(await place.eventsOf(made.body.data.id)).toEqual([
      'security.api_key_created',
      'security.api_key_revoked',
    ]);
  });

  it('of one’s own needs no permission; another principal’s does', async () => {
    const member = await place.person();
    const other = await place.person();
    const made = await place.ask(member, 'POST', '/admin/api-keys', { name: 'mine' });
    expect(made.status).toBe(201);
    const list = await place.ask(member, 'GET', '/admin/api-keys');
    const owners = list.body.data.map((row: { principal_id: string }) => row.principal_id);
    expect(owners).toEqual([member.principalId, member.principalId]);
    const theirs = await place.ask(other, 'GET', '/admin/api-keys');
    const path = `/admin/api-keys/${theirs.body.data[0].id}`;
    const refused = [
      await place.ask(member, 'POST', '/admin/api-keys', { principal_id: other.principalId, name: 'x' }),
      await place.ask(member, 'GET', path),
      await place.ask(member, 'DELETE', path),
    ];
    expect(refused.map(verdict)).toEqual(
      ['create', 'read', 'revoke'].map((verb) => `403 missing_permission api_keys.${verb}`),
    );
    expect((await place.ask(member, 'DELETE', `/admin/api-keys/${made.body.data.id}`)).status).toBe(200);
  });

  it('with restricted permissions creates no other key, and lists none', async () => {
    const small = await place.person({ keyPermissions: ['responses.create'] });
    const refused = [
      await place.ask(small, 'POST', '/admin/api-keys', { name: 'more' }),
      await place.ask(small, 'GET', '/admin/api-keys'),
    ];
    expect(refused.map(verdict)).toEqual([
      '403 missing_permission api_keys.create',
      '403 missing_permission api_keys.read',
    ]);
    const maker = await place.person({ keyPermissions: ['api_keys.create', 'models.read'] });
    // Its principal is a member of the space; the key does not permit that.
    const wider = await place.ask(maker, 'POST', '/admin/api-keys', { name: 'more' });
    expect(verdict(wider)).toMatch('403 missing_permission');
  });

  it('with restricted permissions grants none that it lacks, nor a way to sign in', async () => {
    const guest = await place.person({ spaceRole: null, keyPermissions: ['api_keys.create'] });
    const make = (more: object) => place.ask(guest, 'POST', '/admin/api-keys', { name: 'more', ...more });
    expect(verdict(await make({}))).toBe('403 missing_permission tenants.read');
    expect(verdict(await make({ permissions: ['members.add'] }))).toBe('403 missing_permission members.add');
    expect((await make({ permissions: ['api_keys.create'] })).status).toBe(201);
    const manager = await place.restricted(place.owner, ['identity_providers.manage']);
    const provider = await own('POST', '/admin/identity-providers', {
      slug: 'people',
      display_name: 'People',
      issuer: 'https://id.example.com',
      client_id: 'client',
      redirect_uris: ['https://app.example.com/'],
    });
    const link = { principal_id: guest.principalId, subject: 'guest' };
    const path = `/admin/identity-providers/${provider.body.data.id}/identities`;
    expect(verdict(await place.ask(manager, 'POST', path, link))).toBe('403 missing_permission tenants.read');
    expect((await own('POST', path, link)).status).toBe(200);
  });

  it('made for another principal accepts no invite that promises more than its creator has', async () => {
    const maker = await place.person({ spaceRole: null });
    await own('PUT', `/admin/principals/${maker.principalId}/roles/${await place.role(['api_keys.create'])}`);
    const guest = await place.person({ spaceRole: null, email: 'gail@example.com' });
    const make = (who: Person, permissions?: string[]) =>
      place.ask(who, 'POST', '/admin/api-keys', { principal_id: guest.principalId, name: 'g', permissions });
    expect((await make(maker)).status).toBe(201);
    const invite = { email: 'Gail@example.com', role_id: builtInRoleId('space_admin') };
    const { body } = await own('POST', place.inSpace('/invites'), invite);
    expect(verdict(await make(maker))).toBe('403 missing_permission notifications.read');
    expect(verdict(await make(maker, ['members.add']))).toMatch('403 missing_permission');
    expect((await make(maker, ['models.read'])).status).toBe(201);
    const admin = await place.person({ spaceRole: null, tenantRoles: ['admin'] });
    expect((await make(admin)).status).toBe(201);
    await place.admin.query('update invites set expires_at = now() where id = $1', [body.data.id]);
    expect((await make(maker)).status).toBe(201);
  });

  it('made for another principal accepts no such invite that comes later either, nor does a key created with it', async () => {
    const maker = await place.person({ spaceRole: null });
    await own('PUT', `/admin/principals/${maker.principalId}/roles/${await place.role(['api_keys.create'])}`);
    const guest = await place.person({ spaceRole: null, email: 'gwen@example.com' });
    const keyOf = async (who: Person, body: object): Promise<Person> => {
      const { body: made } = await place.ask(who, 'POST', '/admin/api-keys', { name: 'g', ...body });
      return { ...guest, apiKey: made.data.api_key };
    };
    const first = await keyOf(maker, { principal_id: guest.principalId });
    const second = await keyOf(first, {});
    const invite = { email: 'gwen@example.com', role_id: builtInRoleId('space_admin') };
    const { id } = (await own('POST', place.inSpace('/invites'), invite)).body.data;
    const accept = async (who: Person) =>
      verdict(await place.ask(who, 'POST', place.inSpace(`/invites/${id}/accept`)));
    expect(await accept(first)).toBe('403 missing_permission notifications.read');
    expect(await accept(second)).toBe('403 missing_permission notifications.read');
    await own('PATCH', `/admin/principals/${maker.principalId}`, { status: 'disabled' });
    expect(await accept(first)).toBe('403 missing_permission notifications.read');
    const admin = await place.person({ spaceRole: null, tenantRoles: ['admin'] });
    expect(await accept(await keyOf(admin, { principal_id: guest.principalId }))).toBe('200');
  });

  it('made for another principal reaches into no project where its creator has no role', async () => {
    const maker = await place.person();
    await own('PUT', `/admin/principals/${maker.principalId}/roles/${await place.role(['api_keys.create'])}`);
    const theirs = await place.person();
    const wanted = { principal_id: theirs.principalId, name: 'theirs' };
    expect((await place.ask(maker, 'POST', '/admin/api-keys', wanted)).status).toBe(201);
    const project = await own('POST', place.inSpace('/projects'), { name: 'Pier' });
    const members = place.inSpace(`/projects/${project.body.data.id}/members`);
    const join = { principal_id: theirs.principalId, role_id: builtInRoleId('project_admin') };
    expect((await own('POST', members, join)).status).toBe(201);
    expect(verdict(await place.ask(maker, 'POST', '/admin/api-keys', wanted))).toMatch(
      /^403 missing_permission (projects|project_members)\./,
    );
    await own('POST', members, { ...join, principal_id: maker.principalId });
    expect((await place.ask(maker, 'POST', '/admin/api-keys', wanted)).status).toBe(201);
  });

  it('that is requested again with one idempotency key is the same key, without its secret', async () => {
    const call = () =>
      place.gateway.send({
        method: 'POST',
        path: '/v1/admin/api-keys',
        apiKey: place.owner.apiKey,
        headers: { 'idempotency-key': 'key-1' },
        body: { name: 'again' },
      });
    const [first, again] = [await call(), await call()];
    expect([first.status, again.status, again.headers['idempotent-replayed']]).toEqual([201, 200, 'true']);
    expect(again.body.data).toEqual({ ...first.body.data, api_key: null });
  });
});

describe('a tenant', () => {
  it('is opened, read, renamed, suspended and resumed by an operator', async () => {
    const operator = await addOperator(place.database.unitOfWork);
    const call = (headers: Record<string, string> = {}) =>
      place.gateway.send({
        method: 'POST',
        path: '/v1/admin/tenants',
        apiKey: operator.apiKey,
        headers,
        body: { slug: 'beacon', name: 'Beacon' },
      });
    const made = await call({ 'idempotency-key': 'open' });
    expect(made.status).toBe(201);
    const { tenant_id: id, api_key: apiKey, space_id: spaceId } = made.body.data;
    const again = await call({ 'idempotency-key': 'open' });
    expect(again.status).toBe(200);
    expect(again.body.data).toEqual({ tenant_id: id, principal_id: null, space_id: null, api_key: null });
    expect(verdict(await call())).toBe('409 already_exists');
    const path = `/admin/tenants/${id}`;
    expect((await place.ask(operator, 'PATCH', path, { name: 'Light' })).body.data.name).toBe('Light');
    const first = { principalId: '', apiKey };
    expect((await place.ask(first, 'GET', `/spaces/${spaceId}`)).status).toBe(200);
    expect((await place.ask(operator, 'POST', `${path}/suspend`)).body.data.status).toBe('suspended');
    expect(verdict(await place.ask(first, 'GET', path))).toBe('403 tenant_suspended');
    await place.ask(operator, 'POST', `${path}/resume`);
    expect((await place.ask(first, 'GET', path)).body.data).toMatchObject({ name: 'Light', slug: 'beacon' });
    const list = await place.ask(operator, 'GET', '/admin/tenants?limit=100');
    expect(list.body.data.map((row: { id: string }) => row.id)).toContain(id);
    const { rows } = await place.admin.query(
      `select event_type from events where tenant_id = $1 and category = 'system' and event_type like 'system.tenant%' order by id`,
      [id],
    );
    expect(rows.map((row) => row.event_type)).toEqual([
      'system.tenant_created',
      'system.tenant_updated',
      'system.tenant_suspended',
      'system.tenant_resumed',
    ]);
  });

  it('that is requested twice at once with one idempotency key is opened once, and both requests name it', async () => {
    const operator = await addOperator(place.database.unitOfWork);
    const call = () =>
      place.gateway.send({
        method: 'POST',
        path: '/v1/admin/tenants',
        apiKey: operator.apiKey,
        headers: { 'idempotency-key': 'at-once' },
        body: { slug: 'lantern', name: 'Lantern' },
      });
    await place.admin.query('begin');
    await place.admin.query('lock table tenants in share mode');
    const both = Promise.all([call(), call()]);
    await untilBlocked(place.admin, 2);
    await place.admin.query('commit');
    const answers = await both;
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 201]);
    const [one, other] = answers.map(({ body }) => body.data.tenant_id);
    expect(one).toBe(other);
    const { rows } = await place.admin.query(`select tenant_id as id from tenants where slug = 'lantern'`);
    expect(rows).toEqual([{ id: one }]);
    const taken = await place.gateway.send({
      method: 'POST',
      path: '/v1/admin/tenants',
      apiKey: operator.apiKey,
      headers: { 'idempotency-key': 'later' },
      body: { slug: 'lantern', name: 'Lantern' },
    });
    expect(verdict(taken)).toBe('409 already_exists');
  });

  it('is visible to all others as their own only', async () => {
    const { tenantId } = place.world;
    expect((await own('PATCH', `/admin/tenants/${tenantId}`, { name: 'Ours' })).body.data.name).toBe('Ours');
    const list = await own('GET', '/admin/tenants');
    expect(list.body.data.map((row: { id: string }) => row.id)).toEqual([tenantId]);
    expect(verdict(await own('POST', '/admin/tenants', { slug: 'x', name: 'X' }))).toBe(
      '403 missing_permission tenants.create',
    );
    expect(verdict(await own('POST', `/admin/tenants/${tenantId}/suspend`))).toBe(
      '403 missing_permission tenants.suspend',
    );
  });
});
