import type { Client } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { purgeSignIns } from '#domain/operations/maintenance/purge-sign-ins.ts';
import { createOrm } from '#domain/operations/schema/orm.ts';
import { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { openSession } from '#domain/identity/sign-in/open-session.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { registerProvider } from '../../../support/sign-in.ts';
import { insertKeys } from '../../../support/many-keys.ts';
import { insertSessions } from '../../../support/many-sessions.ts';
import { sweepOnce } from '../../../support/sweeps.ts';
import { connect } from '../../../support/tables.ts';
import { createWorld, secrets } from '../../../support/world.ts';

let database: TestDatabase;
let admin: Client;

beforeAll(async () => {
  database = await createTestDatabase();
  admin = await connect(database.adminUrl);
});
afterAll(async () => {
  await admin?.end();
  await database?.drop();
});

it('registrations at authorization servers are purged when nothing refers to them any more', async () => {
  const world = await createWorld(database.unitOfWork);
  const { tenantId, spaceId } = world;
  const [used, unused, fresh] = [newId(), newId(), newId()];
  await admin.query(
    `insert into authorization_clients (tenant_id, id, issuer, redirect_uri, kind, client_id, created_at)
     select $1, unnest($2::uuid[]), unnest($2::text[]), 'r', 'dynamic', 'c', unnest($3::timestamptz[])`,
    [tenantId, [used, unused, fresh], [new Date(0), new Date(0), new Date()]],
  );
  await admin.query(
    `insert into mcp_connections (tenant_id, id, space_id, connected_by, client_id, status, issuer, target)
     values ($1, gen_random_uuid(), $2, $3, $4, 'connected', 'i', '{}')`,
    [tenantId, spaceId, world.owner.principalId, used],
  );
  const orm = createOrm({ url: database.purgeUrl, statementTimeoutMs: 5_000 });
  await sweepOnce(purgeSignIns, { ...database, purge: new UnitOfWork(orm) });
  await orm.close(true);
  const { rows } = await admin.query(
    'select id from authorization_clients where tenant_id = $1 order by id',
    [tenantId],
  );
  expect(rows.map(({ id }) => id)).toEqual([used, fresh].sort());
});

it('rows of sign-ins are purged when their retention is over, and not before', async () => {
  const world = await createWorld(database.unitOfWork);
  const provider = await registerProvider(database, world, {
    issuer: 'https://id.example.com',
    alg: 'ES256',
  });
  const { tenantId } = world;
  const { principalId } = world.owner;
  await database.unitOfWork.inTenant(tenantId, (em) =>
    openSession({ em, secrets }, { tenantId, principalId, provider, maxLifetime: null, requestId: newId() }),
  );
  await admin.query(
    `insert into login_transactions (tenant_id, id, provider_id, state_hash, nonce_hash, cookie_hash, proof, expires_at)
     values ($1, gen_random_uuid(), $2, 's', 'n', 'c', 'p', now())`,
    [tenantId, provider.id],
  );
  await admin.query(
    `insert into used_id_tokens (tenant_id, claims_hash, expires_at) values ($1, 'h', now() + interval '1 hour')`,
    [tenantId],
  );
  const orm = createOrm({ url: database.purgeUrl, statementTimeoutMs: 5_000 });
  const purge = new UnitOfWork(orm);
  const count = async () =>
    (
      await admin.query<Record<string, number>>(
        `select (select count(*)::int from login_transactions) as logins, (select count(*)::int from used_id_tokens) as used,
           (select count(*)::int from session_tokens) as tokens, (select count(*)::int from sessions) as sessions`,
      )
    ).rows[0];
  await sweepOnce(purgeSignIns, { ...database, purge });
  expect(await count()).toEqual({ logins: 1, used: 1, tokens: 2, sessions: 1 });
  await admin.query(`update login_transactions set expires_at = now() - interval '25 hours'`);
  await admin.query(`update used_id_tokens set expires_at = now() - interval '1 second'`);
  await admin.query(`update session_tokens set expires_at = now() - interval '25 hours'`);
  await admin.query(`update sessions set expires_at = now() - interval '29 days'`);
  await sweepOnce(purgeSignIns, { ...database, purge });
  expect(await count()).toEqual({ logins: 0, used: 0, tokens: 0, sessions: 1 });
  await admin.query(`update sessions set expires_at = now() - interval '31 days'`);
  await sweepOnce(purgeSignIns, { ...database, purge });
  expect(await count()).toEqual({ logins: 0, used: 0, tokens: 0, sessions: 0 });
  await orm.close(true);
});

it('API keys are purged a month after they expired, and while no response refers to them', async () => {
  const world = await createWorld(database.unitOfWork);
  const of = { tenantId: world.tenantId, principalId: world.owner.principalId };
  await insertKeys(admin, of, { count: 4, prefix: 'purge' });
  await admin.query(
    `update api_keys set expires_at = now() - case key_id when 'purge00000000001' then interval '29 days'
       else interval '31 days' end where key_id between 'purge00000000001' and 'purge00000000003'`,
  );
  await admin.query(
    `insert into responses (tenant_id, id, space_id, principal_id, api_key_id, model_id, model, model_alias,
       request, fingerprint, governance, expires_at)
     select $1, 'resp_purge', $2, $3, k.id, m.id, 'm', 'm', '{}', 'f', '{}', now()
     from models m, api_keys k where m.tenant_id = $1 and k.key_id = 'purge00000000003' limit 1`,
    [world.tenantId, world.spaceId, of.principalId],
  );
  const orm = createOrm({ url: database.purgeUrl, statementTimeoutMs: 5_000 });
  const purge = new UnitOfWork(orm);
  const left = async () => {
    await sweepOnce(purgeSignIns, { ...database, purge });
    const { rows } = await admin.query<{ key: string }>(
      `select key_id as key from api_keys where key_id like 'purge%' order by 1`,
    );
    return rows.map(({ key }) => Number(key.slice(-1)));
  };
  expect(await left()).toEqual([1, 3, 4]);
  await admin.query(`delete from responses where id = 'resp_purge'`);
  expect(await left()).toEqual([1, 4]);
  await orm.close(true);
});

it('ended sessions and revoked keys are purged a month after their end, however late they would have expired', async () => {
  const world = await createWorld(database.unitOfWork);
  const { tenantId } = world;
  const { principalId } = world.owner;
  const provider = await registerProvider(database, world, {
    issuer: 'https://id.example.com',
    alg: 'ES256',
  });
  await insertSessions(admin, { tenantId, principalId, providerId: provider.id }, 3);
  await insertKeys(admin, { tenantId, principalId }, { count: 3, prefix: 'ended' });
  const ends = `case n when 1 then now() - interval '31 days' when 2 then now() - interval '29 days' end`;
  await admin.query(
    `update sessions s set ended_at = ${ends}, end_reason = case when n < 3 then 'logout' end
     from (select id, row_number() over (order by last_used_at) as n from sessions where tenant_id = $1) o
     where s.id = o.id`,
    [tenantId],
  );
  await admin.query(
    `update api_keys k set revoked_at = ${ends}
     from (select id, row_number() over (order by key_id) as n from api_keys where key_id like 'ended%') o
     where k.id = o.id`,
  );
  const orm = createOrm({ url: database.purgeUrl, statementTimeoutMs: 5_000 });
  await sweepOnce(purgeSignIns, { ...database, purge: new UnitOfWork(orm) });
  await orm.close(true);
  const { rows } = await admin.query(
    `select (select array_agg(ended_at is null order by last_used_at) from sessions where tenant_id = $1) as sessions,
       (select array_agg(revoked_at is null order by key_id) from api_keys where key_id like 'ended%') as keys`,
    [tenantId],
  );
  expect(rows).toEqual([{ sessions: [false, true], keys: [false, true] }]);
});
