import { afterAll, beforeAll, expect, it } from 'vitest';
import { sealEvents } from '#domain/foundation/events/seal-events.ts';
import { verifyChain, type Ask } from '#domain/foundation/events/verify-chain.ts';
import { migrate } from '#domain/operations/schema/migrate.ts';
import { openEngine, type Engine } from '../../../support/engine.ts';
import { fillLog, prepareLog, sealAll } from '../../../support/event-log.ts';
import { Purge } from '../../../support/purge.ts';
import { secrets } from '../../../support/world.ts';

/** As if the dump's server had a higher transaction counter. */
const ahead = 1_000_000_000_000;

let engine: Engine;
let purge: Purge;

beforeAll(async () => {
  engine = await openEngine();
  purge = new Purge(engine.database);
  await prepareLog(engine.admin, 3);
});
afterAll(async () => {
  await purge?.close();
  await engine?.stop();
});

const write = (count: number) => fillLog(engine.admin, { tenantId: engine.world.tenantId, count, days: 1 });
const migrated = () =>
  migrate({
    DATABASE_ADMIN_URL: engine.database.adminUrl,
    DATABASE_URL: engine.database.url,
    DATABASE_PURGE_URL: engine.database.purgeUrl,
  });
const beginning = async () =>
  (await engine.admin.query<{ at: string }>('select app.log_beginning() as at')).rows[0]?.at;

async function verify(): Promise<{ findings: unknown[]; unsealed: number }> {
  const ask: Ask = async <Row extends object>(text: string, values: unknown[]) =>
    (await engine.admin.query<Row>(text, values)).rows;
  return verifyChain(ask, engine.world.tenantId, { anchors: [], retentionDays: 365 });
}

/** As the tables look in a new server; sealed events keep the fields that their digest covers. */
async function restore(): Promise<void> {
  const later = (column: string) => `${column} = (${column}::text::bigint + ${ahead})::text::xid8`;
  await engine.admin.query(`begin; set local session_replication_role = replica`);
  await engine.admin.query(
    `update events e set ${later('transaction_id')} from event_chains c
     where c.tenant_id = e.tenant_id and (e.transaction_id, e.id) > (c.last_transaction_id, c.last_event_id)`,
  );
  await engine.admin.query(`update event_seals set ${later('last_transaction_id')}`);
  await engine.admin.query(`update event_chains set ${later('last_transaction_id')}`);
  await engine.admin.query('commit');
}

it('a log that was restored from a dump is sealed on once the server is migrated, without any other step', async () => {
  const deps = { purge, secrets };
  await write(30);
  await sealAll(engine.admin, deps);
  await write(20);
  await restore();
  expect(await sealEvents(deps)).toMatchObject({ sealed: 0, failed: 1 });

  await migrated();
  await write(10);
  await sealAll(engine.admin, deps);
  expect(await verify()).toMatchObject({ findings: [], unsealed: 0 });

  const moved = await beginning();
  expect(Number(moved)).toBeGreaterThan(ahead / 2);
  await write(10);
  await migrated();
  expect(await beginning(), 'again').toBe(moved);
  await sealAll(engine.admin, deps);
  expect(await verify()).toMatchObject({ findings: [], unsealed: 0 });
});
