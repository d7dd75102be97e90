import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Client } from 'pg';
import { sealEvents } from '#domain/foundation/events/seal-events.ts';
import { verifyChain, type Ask } from '#domain/foundation/events/verify-chain.ts';
import { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { migrate } from '#domain/operations/schema/migrate.ts';
import { createOrm } from '#domain/operations/schema/orm.ts';
import { newPassword } from '../../../../bin/launcher/data-directory.ts';
import { startPostgres, type RunningPostgres } from '../../../../bin/launcher/postgres.ts';
import { makeDataFolder } from '../../../support/data-folder.ts';
import { databaseUrl, withRole } from '../../../support/database-urls.ts';
import { openEngine, type Engine } from '../../../support/engine.ts';
import { fillLog, prepareLog, sealAll } from '../../../support/event-log.ts';
import { pgDump, restoreDump } from '../../../support/pg-dump.ts';
import { Purge } from '../../../support/purge.ts';
import { connect } from '../../../support/tables.ts';
import { createWorld, secrets } from '../../../support/world.ts';

let engine: Engine;
let folder: string;
/** A server that has just been set up. */
let server: RunningPostgres;
let admin: Client;
const undo: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  folder = makeDataFolder();
  [engine, server] = await Promise.all([openEngine(), startPostgres({ dataDir: join(folder, 'postgres') })]);
  await prepareLog(engine.admin, 3);
  admin = await connect(server.adminUrl);
});
afterAll(async () => {
  await Promise.all(undo.map((each) => each()));
  await admin?.end();
  await server?.stop();
  await engine?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Roles belong to the server: a dump of a database has none. */
async function createRoles(): Promise<void> {
  const client = await connect(databaseUrl(server.adminUrl, 'postgres'));
  const roles = new URL('../../../../domain/operations/schema/roles.sql', import.meta.url);
  await client.query(await readFile(roles, 'utf8'));
  await client.end();
}
const counterOf = async (client: Client) =>
  Number((await client.query<{ at: string }>('select pg_current_xact_id()::text as at')).rows[0]!.at);
const write = (client: Client, count: number) =>
  fillLog(client, { tenantId: engine.world.tenantId, count, days: 1 });
function verify(tenantId: string) {
  const ask: Ask = async <Row extends object>(text: string, values: unknown[]) =>
    (await admin.query<Row>(text, values)).rows;
  return verifyChain(ask, tenantId, { anchors: [], retentionDays: 365 });
}
async function sealedHere(events: number): Promise<void> {
  const purge = new Purge(engine.database);
  await write(engine.admin, events);
  await sealAll(engine.admin, { purge, secrets });
  await purge.close();
}

it('a dump that is restored into a new server is written to and sealed on once it is migrated, without any other step', async (context) => {
  await engine.admin.query(
    `do $$ begin for n in 1..20000 loop perform pg_current_xact_id(); commit; end loop; end $$`,
  );
  await sealedHere(30);
  await write(engine.admin, 20);
  const dumped = await pgDump(engine.database.adminUrl);
  if ('missing' in dumped) return context.skip(dumped.missing);
  await createRoles();
  await restoreDump(server.adminUrl, dumped.text);
  expect(await counterOf(admin), 'of a new server').toBeLessThan((await counterOf(engine.admin)) - 5_000);

  const password = newPassword();
  const as = (role: string) => withRole(server.adminUrl, role, password);
  const urls = { url: as('app_rt'), purgeUrl: as('app_purge') };
  await migrate({
    DATABASE_ADMIN_URL: server.adminUrl,
    DATABASE_URL: urls.url,
    DATABASE_PURGE_URL: urls.purgeUrl,
  });
  const purge = new Purge(urls);
  const orm = createOrm({ url: urls.url, statementTimeoutMs: 10_000 });
  undo.push(
    () => purge.close(),
    () => orm.close(true),
  );

  await write(admin, 10);
  const later = await createWorld(new UnitOfWork(orm));
  await sealAll(admin, { purge, secrets });
  expect(await verify(engine.world.tenantId)).toMatchObject({ findings: [], unsealed: 0 });
  const { events: before } = await verify(engine.world.tenantId);
  expect(before).toBeGreaterThanOrEqual(60);
  expect(await verify(later.tenantId)).toMatchObject({ findings: [], unsealed: 0 });
  expect((await verify(later.tenantId)).events).toBeGreaterThan(0);

  await write(admin, 10);
  await sealAll(admin, { purge, secrets });
  expect(await verify(engine.world.tenantId)).toMatchObject({
    findings: [],
    unsealed: 0,
    events: before + 10,
  });
  expect(await sealEvents({ purge, secrets })).toMatchObject({ sealed: 0, failed: 0 });
});
