import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { haltTenant } from '#domain/operations/tenant-deletion/halt-tenant.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { openGateway, type Answer, type TestGateway } from '../support/gateway.ts';
import { certified } from '../support/deletion-fixtures.ts';
import { addOperator, type Operator } from '../support/operators.ts';
import { connect } from '../support/tables.ts';
import { addMember, createWorld, scriptedModel, type World } from '../support/world.ts';

let database: TestDatabase;
let gateway: TestGateway;
let admin: Client;
let operator: Operator;
beforeAll(async () => {
  database = await createTestDatabase();
  gateway = await openGateway(database, { MAX_FAILED_ATTEMPTS: '20' });
  admin = await connect(database.adminUrl);
  operator = await addOperator(database.unitOfWork);
});
afterAll(async () => {
  await gateway?.close();
  await admin?.end();
  await database?.drop();
});

const silent = scriptedModel({ url: 'http://127.0.0.1:9/v1' }, 'silent');
const newWorld = (): Promise<World> => createWorld(database.unitOfWork, [silent]);
const ask = (apiKey: string, method: string, path: string, body?: object): Promise<Answer> =>
  gateway.send({ method, path: `/v1${path}`, apiKey, ...(body && { body }) });
const remove = (apiKey: string, world: World, query = 'reason_code=contract_ended') =>
  ask(apiKey, 'DELETE', `/admin/tenants/${world.tenantId}?${query}`);
const deletion = (apiKey: string, { tenantId }: World) =>
  ask(apiKey, 'GET', `/admin/tenants/${tenantId}/deletion`);
const cancel = (apiKey: string, { tenantId }: World) =>
  ask(apiKey, 'POST', `/admin/tenants/${tenantId}/deletion/cancel`);
const verdict = ({ status, body }: Answer): string => `${status} ${body?.error?.code ?? ''}`.trim();

/** A checksum of every table's rows of a tenant. */
async function checksums(tenantId: string): Promise<Record<string, string>> {
  const { rows: tables } = await admin.query<{ name: string }>(
    `select c.relname as name from pg_class c where c.relnamespace = 'public'::regnamespace
       and c.relkind in ('r', 'p') and not c.relispartition and exists (select from pg_attribute a
         where a.attrelid = c.oid and a.attname = 'tenant_id') order by 1`,
  );
  const sums: Record<string, string> = {};
  for (const { name } of tables) {
    const { rows } = await admin.query<{ sum: string }>(
      `select md5(coalesce(string_agg(t::text, ',' order by t::text), '')) as sum from "${name}" t where tenant_id = $1`,
      [tenantId],
    );
    sums[name] = rows[0]!.sum;
  }
  return sums;
}

describe('a request to delete a tenant', () => {
  it('cuts the access of everybody at once, and answers repeats with the same deletion', async () => {
    const world = await newWorld();
    const member = await addMember(database.unitOfWork, world);
    const first = await remove(world.apiKey, world);
    expect(first.status).toBe(202);
    expect(first.body.data).toMatchObject({
      tenant_id: world.tenantId,
      status: 'deletion_scheduled',
      reason_code: 'contract_ended',
      certificate_token: expect.stringMatching(/^dc\./),
    });
    const { requested_at: from, purge_after: until } = first.body.data;
    expect(Date.parse(until) - Date.parse(from)).toBe(604_800_000);
    const again = await remove(world.apiKey, world, 'reason_code=other');
    expect([again.status, again.body.data]).toEqual([202, { ...first.body.data, certificate_token: null }]);
    const space = `/spaces/${world.spaceId}`;
    const refused = [
      await ask(world.apiKey, 'GET', `${space}/collections`),
      await ask(member.apiKey, 'GET', '/spaces'),
      await ask(world.apiKey, 'POST', `${space}/responses`, { input: { text: 'Hi' }, tools: [] }),
      await ask(world.apiKey, 'GET', `/admin/tenants/${world.tenantId}`),
      await ask(member.apiKey, 'GET', `/admin/tenants/${world.tenantId}/deletion`),
      await ask(world.apiKey, 'GET', '/notifications'),
    ];
    expect(refused.map(verdict)).toEqual(refused.map(() => '403 tenant_deleting'));
    const call = await gateway.app.inject({
      method: 'GET',
      url: `/api/trpc/spaces.list?input=${encodeURIComponent('{}')}`,
      headers: { 'x-api-key': world.apiKey },
    });
    expect(call.statusCode).toBe(403);
    expect(call.body).toContain('tenant_deleting');
    expect((await deletion(world.apiKey, world)).body.data).toMatchObject({
      status: 'deletion_scheduled',
      progress: { step: 'scheduled', table: null, rows_done: 0, rows_counted: null },
      failure: null,
      certificate: null,
    });
  });

  it('starts its workflow once, and signals it when an operator brings the erasure forward', async () => {
    const world = await newWorld();
    const { body } = await remove(world.apiKey, world);
    await remove(world.apiKey, world);
    const sooner = await remove(operator.apiKey, world, 'reason_code=other&grace_seconds=60');
    expect(sooner.body.data.deletion_id).toBe(body.data.deletion_id);
    expect(Date.parse(sooner.body.data.purge_after)).toBeLessThan(Date.parse(body.data.purge_after));
    const later = await remove(operator.apiKey, world, 'reason_code=other&grace_seconds=600');
    expect(later.body.data.purge_after).toBe(sooner.body.data.purge_after);
    const { rows } = await admin.query<{ kind: string; payload: { signal?: string } }>(
      `select kind, payload from outbox where tenant_id = $1 and workflow_type = 'deleteTenant' order by id`,
      [world.tenantId],
    );
    expect(rows.map(({ kind, payload }) => [kind, payload.signal ?? payload])).toEqual([
      ['start', { tenantId: world.tenantId, deletionId: body.data.deletion_id }],
      ['signal', 'runNow'],
    ]);
  });

  it.each([
    '',
    'reason_code=',
    'reason_code=Spoken%20Word',
    `reason_code=${'a'.repeat(65)}`,
    'reason_code=a&reason_code=b',
    'reason_code=a%00',
    'reason_code=other&grace_seconds=-1',
    'reason_code=other&grace_seconds=1e3',
    'reason_code=other&grace_seconds=60',
    'reason_code=other&force=true',
  ])('is refused with the query "%s", and changes nothing', async (query) => {
    const world = await newWorld();
    expect((await remove(world.apiKey, world, query)).status).toBe(422);
    expect((await ask(world.apiKey, 'GET', '/spaces')).status).toBe(200);
  });

  it('is for owners of the tenant and operators of the platform alone', async () => {
    const [world, other] = [await newWorld(), await newWorld()];
    const administrator = await addMember(database.unitOfWork, world, { tenantRoles: ['admin'] });
    expect(verdict(await remove(administrator.apiKey, world))).toBe('403 missing_permission');
    expect(verdict(await remove(other.apiKey, world))).toBe('404 tenant_not_found');
    expect(verdict(await deletion(other.apiKey, world))).toBe('404 tenant_not_found');
    expect(verdict(await cancel(other.apiKey, world))).toBe('404 tenant_not_found');
    expect(verdict(await deletion(world.apiKey, world))).toBe('404 deletion_not_found');
    expect(verdict(await cancel(world.apiKey, world))).toBe('404 deletion_not_found');
    const narrow = await addOperator(database.unitOfWork, ['tenants.read']);
    expect(verdict(await remove(narrow.apiKey, world))).toBe('403 missing_permission');
    const platform = { ...world, tenantId: '00000000-0000-7000-8000-000000000001' };
    expect(verdict(await remove(operator.apiKey, platform))).toBe('409 invalid_state');
    expect((await remove(operator.apiKey, world)).status).toBe(202);
  });
});

describe('a cancelled deletion', () => {
  it('leaves every row as it was, but for what it recorded itself', async () => {
    const world = await newWorld();
    await ask(world.apiKey, 'POST', `/spaces/${world.spaceId}/collections`, { name: 'Harbours' });
    const before = await checksums(world.tenantId);
    await remove(world.apiKey, world);
    expect(await checksums(world.tenantId)).not.toEqual(before);
    const cancelled = await cancel(world.apiKey, world);
    expect(cancelled.body.data).toMatchObject({ status: 'cancelled', certificate: null });
    expect((await cancel(world.apiKey, world)).body.data).toEqual(cancelled.body.data);
    const after = await checksums(world.tenantId);
    const changed = Object.keys(after).filter((table) => after[table] !== before[table]);
    // Events of request and cancel, their fan-outs and messages; the use of the key; its requests.
    const own = ['api_keys', 'data_keys', 'events', 'event_dedupe', 'fan_outs', 'outbox', 'rate_buckets'];
    expect(changed.filter((table) => !own.includes(table))).toEqual([]);
    expect((await ask(world.apiKey, 'GET', '/spaces')).status).toBe(200);
    expect((await remove(world.apiKey, world)).body.data.status).toBe('deletion_scheduled');
  });

  it('restores a suspended tenant as suspended', async () => {
    const world = await newWorld();
    await ask(operator.apiKey, 'POST', `/admin/tenants/${world.tenantId}/suspend`);
    await remove(operator.apiKey, world);
    expect(verdict(await cancel(world.apiKey, world))).toBe('403 tenant_suspended');
    expect((await deletion(operator.apiKey, world)).body.data.status).toBe('deletion_scheduled');
    await cancel(operator.apiKey, world);
    expect(verdict(await ask(world.apiKey, 'GET', '/spaces'))).toBe('403 tenant_suspended');
  });

  it('is too late once the erasure has begun', async () => {
    const world = await newWorld();
    await remove(operator.apiKey, world);
    await admin.query(`update tenants set status = 'deleting' where tenant_id = $1`, [world.tenantId]);
    await admin.query(`update app.tenant_deletions set status = 'deleting' where tenant_id = $1`, [
      world.tenantId,
    ]);
    expect(verdict(await cancel(operator.apiKey, world))).toBe('409 invalid_state');
  });
});

describe('running work of a tenant that is to be deleted', () => {
  it('ends: its streams within a second, its responses as cancelled', { timeout: 60_000 }, async () => {
    const world = await newWorld();
    const address = await gateway.app.listen({ port: 0, host: '127.0.0.1' });
    const answer = await fetch(`${address}/api/v1/spaces/${world.spaceId}/responses`, {
      method: 'POST',
      headers: { 'X-API-Key': world.apiKey, 'Content-Type': 'application/json' },
      body: JSON.stringify({ input: { text: 'Why?' }, tools: [], stream: true }),
    });
    expect(answer.status).toBe(200);
    const ended = answer.text().then((text) => ({ text, at: performance.now() }));
    const id = answer.headers.get('x-response-id')!;
    await expect.poll(() => gateway.gateway.hub.countOf(id)).toBe(1);
    expect((await remove(world.apiKey, world)).status).toBe(202);
    const cutAt = performance.now();
    const { text, at } = await ended;
    expect(text).toContain('tenant_deleting');
    expect(at - cutAt).toBeLessThan(1_000);
    expect(await haltTenant(database.unitOfWork, world.tenantId)).toBe(1);
    expect(await haltTenant(database.unitOfWork, world.tenantId)).toBe(0);
    await cancel(world.apiKey, world);
    const { body } = await ask(world.apiKey, 'GET', `/spaces/${world.spaceId}/responses/${id}`);
    expect(body.status ?? body.data?.status).toBe('cancelled');
  });

  it('goes on after a cancel, whenever an attempt of the halt arrives', async () => {
    const world = await newWorld();
    const path = `/spaces/${world.spaceId}/responses`;
    await remove(world.apiKey, world);
    await cancel(world.apiKey, world);
    const { body } = await ask(world.apiKey, 'POST', path, { input: { text: 'Why?' }, tools: [] });
    const id: string = body.id ?? body.data.id;
    expect(await haltTenant(database.unitOfWork, world.tenantId)).toBe(0);
    const { rows } = await admin.query('select finished_at from responses where id = $1', [id]);
    expect(rows).toEqual([{ finished_at: null }]);
  });
});

describe('the certificate of a deletion', () => {
  const read = (id: string, token: string) =>
    gateway.send({
      method: 'GET',
      path: `/v1/deletions/${id}/certificate`,
      headers: { authorization: `Bearer ${token}` },
    });

  it('is read with the token of its request alone, and is not there before the end', async () => {
    const [world, other] = [await newWorld(), await newWorld()];
    const { deletion_id: id, certificate_token: token } = (await remove(world.apiKey, world)).body.data;
    const { certificate_token: others } = (await remove(other.apiKey, other)).body.data;
    expect(verdict(await read(id, token))).toBe('409 invalid_state');
    expect(verdict(await read(id, others))).toBe('401 invalid_credentials');
    expect(verdict(await read(id, world.apiKey))).toBe('401 invalid_credentials');
    expect(verdict(await read('01a21395-368d-7381-b813-c56c04ba6a01', token))).toBe(
      '401 invalid_credentials',
    );
    const { rows } = await admin.query<{ row: string }>(
      'select t::text as row from app.tenant_deletions t where id = $1',
      [id],
    );
    expect(rows[0]!.row).not.toContain(token.slice(3));
  });

  it('is read once more within a day of the first time, and then no more', async () => {
    const { path, headers } = await certified({ admin, operator, gateway });
    const open = () => gateway.send({ method: 'GET', path, headers });
    const first = await open();
    expect(first.status, first.text).toBe(200);
    expect((await open()).text).toBe(first.text);
    const age = (hours: number) =>
      admin.query(
        `update app.tenant_deletions set certificate_read_at = certificate_read_at - make_interval(hours => $1)`,
        [hours],
      );
    await age(23);
    expect((await open()).status).toBe(200);
    await age(2);
    expect(verdict(await open())).toBe('401 invalid_credentials');
  });

  it('answers a few wrong tokens and then none', async () => {
    const world = await newWorld();
    const { deletion_id: id } = (await remove(world.apiKey, world)).body.data;
    const wrong = `dc.${'A'.repeat(43)}`;
    const verdicts: string[] = [];
    for (let n = 0; n < 22; n += 1) verdicts.push(verdict(await read(id, wrong)));
    expect(verdicts[0]).toBe('401 invalid_credentials');
    expect(verdicts.at(-1)).toBe('429 too_many_failed_attempts');
  });
});
