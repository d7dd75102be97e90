import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { builtInRoleId } from '#domain/identity/roles/role-ids.ts';
import { builtInRoles } from '#domain/foundation/access/roles.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { openAdminWorld, verdict, type AdminWorld } from '../support/admin-world.ts';
import { untilBlocked } from '../support/tables.ts';

let place: AdminWorld;
beforeAll(async () => {
  place = await openAdminWorld();
});
afterAll(() => place?.close());

const own = (method: string, path: string, body?: object) => place.ask(place.owner, method, path, body);

describe('a role', () => {
  it('is created empty, given permissions, renamed and deleted, with an event for each', async () => {
    const made = await own('POST', '/admin/roles', { key: 'reviewer', name: 'Reviewer' });
    expect(made.status).toBe(201);
    const { id } = made.body.data;
    expect(made.body.data).toMatchObject({
      key: 'reviewer',
      name: 'Reviewer',
      description: null,
      permissions: [],
      built_in: false,
      scope: null,
    });
    const wanted = { permissions: ['responses.read', 'collections.read', 'responses.read'] };
    const given = await own('PUT', `/admin/roles/${id}/permissions`, wanted);
    expect(given.body.data.permissions).toEqual(['collections.read', 'responses.read']);
    const named = await own('PATCH', `/admin/roles/${id}`, { description: 'Reads answers.' });
    expect(named.body.data).toMatchObject({ name: 'Reviewer', description: 'Reads answers.' });
    expect((await own('GET', `/admin/roles/${id}`)).body.data).toEqual(named.body.data);
    expect((await own('DELETE', `/admin/roles/${id}`)).body).toEqual({ data: { id, deleted: true } });
    expect(verdict(await own('GET', `/admin/roles/${id}`))).toBe('404 role_not_found');
    expect(await place.eventsOf(id)).toEqual([
      'security.role_created',
      'security.role_updated',
      'security.role_updated',
      'security.role_deleted',
    ]);
  });

  it('that is set to its present value writes nothing', async () => {
    const id = await place.role(['roles.read']);
    const before = await place.eventsOf(id);
    await own('PUT', `/admin/roles/${id}/permissions`, { permissions: ['roles.read'] });
    await own('PATCH', `/admin/roles/${id}`, {});
    expect(await place.eventsOf(id)).toEqual(before);
  });

  it('has a key of its own in its tenant, which is no built-in one', async () => {
    await own('POST', '/admin/roles', { key: 'twice', name: 'A' });
    expect(verdict(await own('POST', '/admin/roles', { key: 'twice', name: 'B' }))).toBe(
      '409 already_exists',
    );
    for (const key of Object.keys(builtInRoles)) {
      expect(verdict(await own('POST', '/admin/roles', { key, name: 'B' })), key).toBe('409 already_exists');
    }
    for (const key of ['Upper', '1st', 'a', 'with-dash', `a${'b'.repeat(63)}`]) {
      expect(verdict(await own('POST', '/admin/roles', { key, name: 'B' })), key).toBe('422 invalid_request');
    }
  });

  it.each(Object.keys(builtInRoles))(
    'that is built in (%s) can be neither changed nor deleted',
    async (key) => {
      const path = `/admin/roles/${builtInRoleId(key)}`;
      const refused = [
        await own('PATCH', path, { name: 'Mine' }),
        await own('PUT', `${path}/permissions`, { permissions: [] }),
        await own('DELETE', path),
      ];
      expect(refused.map(verdict)).toEqual(Array.from({ length: 3 }, () => '409 invalid_state'));
      expect((await own('GET', path)).body.data).toMatchObject({ key, built_in: true });
    },
  );

  it('that is assigned, or promised by an invite, is not deleted', async () => {
    const everywhere = await place.role(['collections.read']);
    const { principalId } = await place.person({ spaceRole: null });
    await own('PUT', `/admin/principals/${principalId}/roles/${everywhere}`);
    const inSpace = await place.role(['collections.read']);
    const member = await place.person({ spaceRole: null });
    const body = { principal_id: member.principalId, role_id: inSpace };
    await own('POST', place.inSpace('/members'), body);
    const promised = await place.role(['collections.read']);
    const email = 'ada@example.com';
    const invite = await own('POST', place.inSpace('/invites'), { email, role_id: promised });
    for (const id of [everywhere, inSpace, promised]) {
      expect(verdict(await own('DELETE', `/admin/roles/${id}`))).toBe('409 invalid_state');
    }
    await own('POST', place.inSpace(`/invites/${invite.body.data.id}/revoke`));
    expect((await own('DELETE', `/admin/roles/${promised}`)).status).toBe(200);
    const shown = await own('GET', place.inSpace(`/invites/${invite.body.data.id}`));
    expect(shown.body.data).toMatchObject({ status: 'revoked', role_id: null });
  });
});

describe('the list of roles', () => {
  it('shows each role once in pages of every size, the built-in ones last and in their order', async () => {
    const pagesOf = async (limit: number): Promise<string[]> => {
      const keys: string[] = [];
      for (let cursor = ''; ;) {
        const page = await own('GET', `/admin/roles?limit=${limit}${cursor}`);
        expect(page.body.meta.has_more).toBe(page.body.meta.next_cursor !== null);
        keys.push(...page.body.data.map(({ key }: { key: string }) => key));
        if (page.body.meta.next_cursor === null) {
          return keys;
        }
        cursor = `&cursor=${page.body.meta.next_cursor}`;
      }
    };
    const whole = await pagesOf(100);
    const builtIn = Object.keys(builtInRoles).filter((key) => key !== 'platform_operator');
    expect(whole.slice(-builtIn.length)).toEqual(builtIn);
    expect(new Set(whole).size).toBe(whole.length);
    for (const limit of [1, 2, 3, whole.length - builtIn.length, whole.length - 1]) {
      expect(await pagesOf(limit)).toEqual(whole);
    }
  });
});

describe('a principal that grants', () => {
  it('grants no more than it has, into a role or by a role', async () => {
    const manager = await place.role(['roles.update', 'roles.assign', 'models.read']);
    const small = await place.person({ spaceRole: null });
    await own('PUT', `/admin/principals/${small.principalId}/roles/${manager}`);
    const empty = await place.role([]);
    const widen = (permissions: string[]) =>
      place.ask(small, 'PUT', `/admin/roles/${empty}/permissions`, { permissions });
    expect(verdict(await widen(['models.manage']))).toBe('403 missing_permission models.manage');
    // Implied permissions count as well.
    expect(verdict(await widen(['spaces.update']))).toBe('403 missing_permission spaces.update');
    expect((await widen(['models.read'])).status).toBe(200);
    const assign = (roleId: string) =>
      place.ask(small, 'PUT', `/admin/principals/${small.principalId}/roles/${roleId}`);
    expect(verdict(await assign(builtInRoleId('owner')))).toMatch('403 missing_permission');
    expect(verdict(await assign(builtInRoleId('platform_operator')))).toMatch('403 missing_permission');
    expect((await assign(empty)).status).toBe(200);
    const takeFrom = await place.ask(
      small,
      'DELETE',
      `/admin/principals/${place.owner.principalId}/roles/${builtInRoleId('owner')}`,
    );
    expect(verdict(takeFrom)).toMatch('403 missing_permission');
  });

  it('may take out of a role what it does not hold itself', async () => {
    const role = await place.role(['models.manage', 'models.read']);
    const small = await place.person({ spaceRole: null });
    const manager = await place.role(['roles.update']);
    await own('PUT', `/admin/principals/${small.principalId}/roles/${manager}`);
    const body = { permissions: ['models.read'] };
    expect((await place.ask(small, 'PUT', `/admin/roles/${role}/permissions`, body)).status).toBe(200);
  });
});

describe('a role in the whole tenant', () => {
  it('is given, listed and taken away, each once, and holds from the next request on', async () => {
    const role = await place.role(['models.read']);
    const { principalId, apiKey } = await place.person({ spaceRole: null });
    const models = () => place.gateway.send({ method: 'GET', path: '/v1/admin/models', apiKey });
    expect(verdict(await models())).toBe('403 missing_permission models.read');
    const path = `/admin/principals/${principalId}/roles`;
    expect((await own('PUT', `${path}/${role}`)).status).toBe(200);
    expect((await own('PUT', `${path}/${role}`)).status).toBe(200);
    expect((await models()).status).toBe(200);
    expect((await own('GET', path)).body.data.map(({ id }: { id: string }) => id)).toEqual([role]);
    expect((await own('DELETE', `${path}/${role}`)).body).toEqual({ data: { id: role, deleted: true } });
    expect(verdict(await models())).toBe('403 missing_permission models.read');
    expect(verdict(await own('DELETE', `${path}/${role}`))).toBe('404 role_not_found');
    const { rows } = await place.admin.query(
      `select event_type, metadata ->> 'role_id' as role from events
       where resource_id = $1 and event_type like 'security.role%' order by id`,
      [principalId],
    );
    expect(rows).toEqual([
      { event_type: 'security.role_assigned', role },
      { event_type: 'security.role_unassigned', role },
    ]);
  });

  it('is taken away once by five concurrent requests', async () => {
    const role = await place.role([]);
    const { principalId } = await place.person({ spaceRole: null });
    const path = `/admin/principals/${principalId}/roles/${role}`;
    await own('PUT', path);
    const answers = await Promise.all(Array.from({ length: 5 }, () => own('DELETE', path)));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 404, 404, 404, 404]);
    expect(await place.eventsOf(principalId)).toEqual(['security.role_assigned', 'security.role_unassigned']);
  });

  it('is no role of spaces or projects', async () => {
    const path = `/admin/principals/${place.owner.principalId}/roles`;
    for (const key of ['space_admin', 'project_viewer']) {
      const refused = await own('PUT', `${path}/${builtInRoleId(key)}`);
      expect(refused).toMatchObject({
        status: 422,
        body: { error: { code: 'invalid_request', param: 'role_id' } },
      });
    }
    expect(verdict(await own('PUT', `${path}/${newId()}`))).toBe('404 role_not_found');
  });

  it('of the last owner stays, and so does the last owner', async () => {
    const path = `/admin/principals/${place.owner.principalId}`;
    const owner = builtInRoleId('owner');
    expect(verdict(await own('DELETE', `${path}/roles/${owner}`))).toBe('409 invalid_state');
    expect(verdict(await own('PATCH', path, { status: 'disabled' }))).toBe('409 invalid_state');
    expect(verdict(await own('DELETE', path))).toBe('409 invalid_state');
    const second = await place.person({ tenantRoles: ['owner'], spaceRole: null });
    expect((await own('DELETE', `/admin/principals/${second.principalId}/roles/${owner}`)).status).toBe(200);
  });

  it('of the last two owners is not taken from both at once', async () => {
    const second = await place.person({ tenantRoles: ['owner'], spaceRole: null });
    const { tenantId } = place.world;
    await place.admin.query('begin');
    await place.admin.query('select from tenants where tenant_id = $1 for no key update', [tenantId]);
    await place.admin.query(`update principals set status = 'disabled' where tenant_id = $1 and id = $2`, [
      tenantId,
      second.principalId,
    ]);
    const path = `/admin/principals/${place.owner.principalId}`;
    const other = own('PATCH', path, { status: 'disabled' });
    await untilBlocked(place.admin);
    await place.admin.query('commit');
    expect(verdict(await other)).toBe('409 invalid_state');
  });
});

/**
 * Sends `bodies` with one key: the first twice, then the other.
 * @returns the answer to the first
 */
async function sendOnce(path: string, [body, otherBody]: [object, object]) {
  const call = (sent: object) =>
    place.gateway.send({
      method: 'POST',
      path,
      apiKey: place.owner.apiKey,
      headers: { 'idempotency-key': 'once' },
      body: sent,
    });
  const [first, again, other] = [await call(body), await call(body), await call(otherBody)];
  expect([first.status, again.status, again.headers['idempotent-replayed']]).toEqual([201, 200, 'true']);
  expect(again.body).toEqual(first.body);
  expect(verdict(other)).toBe('422 idempotency_key_reused');
  return first;
}

it('a role made with one idempotency key is made once', async () => {
  const body = (name: string) => ({ key: 'once', name });
  await sendOnce('/v1/admin/roles', [body('Once'), body('Other')]);
});

it('a model added with one idempotency key is added once, and a lost answer is repeated', async () => {
  const body = (contextWindow: number) => ({
    alias: 'once',
    provider_kind: 'openai',
    provider_model: 'gpt-5-mini',
    context_window: contextWindow,
    price: { input: '1', output: '2' },
  });
  const first = await sendOnce('/v1/admin/models', [body(90_000), body(80_000)]);
  expect(await place.eventsOf(first.body.data.id)).toEqual(['system.model_added']);
});
