import type { Client } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { verifyChain, type Ask } from '#domain/foundation/events/verify-chain.ts';
import type { ResponseRecord } from '#domain/responses/record/response-record.ts';
import { migrate } from '#domain/operations/schema/migrate.ts';
import { readCatalogue } from '../support/catalogue.ts';
import { createTestDatabase } from '../support/database.ts';
import { openGateway } from '../support/gateway.ts';
import { startModelServer } from '../support/model-server.ts';
import { runPlatform } from '../support/platform-cli.ts';
import { ResponsesClient, textOf } from '../support/responses-client.ts';
import { publicUrl } from '../support/sign-in.ts';
import { startStack } from '../support/stack.ts';
import { connect, countRows } from '../support/tables.ts';
import { readAll } from './readings.ts';
import { expected, restoreBaseline, type Restored } from './restore.ts';

const baseline = expected();

let database: Restored;
let admin: Client;
let before: Interfaces;

interface Interfaces {
  functions: string[];
  columns: { name: string; type: string; demanded: boolean }[];
}

const environment = () => ({
  DATABASE_ADMIN_URL: database.adminUrl,
  DATABASE_URL: database.url,
  DATABASE_PURGE_URL: database.purgeUrl,
});

beforeAll(async () => {
  database = await restoreBaseline();
  admin = await connect(database.adminUrl);
  before = await readInterfaces();
  // As the launcher does at every start, and an operator before the new version.
  const { stdout } = await runPlatform(['migrate'], environment());
  expect(stdout).toContain('migrated');
});
afterAll(async () => {
  await admin?.end();
  await database?.drop();
});

/** Interfaces that a gateway or a worker of the previous version relies on. */
async function readInterfaces(): Promise<Interfaces> {
  const functions = await admin.query<{ name: string }>(
    `select format('%s(%s) %s', proname, pg_get_function_arguments(oid), pg_get_function_result(oid)) as name
     from pg_proc where pronamespace = 'app'::regnamespace`,
  );
  const columns = await admin.query<Interfaces['columns'][number]>(
    `select format('%s.%s', attrelid::regclass, attname) as name, format_type(atttypid, atttypmod) as type,
       attnotnull and not atthasdef and attidentity = '' as demanded
     from pg_attribute join pg_class c on c.oid = attrelid
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
       and attnum > 0 and not attisdropped order by 1`,
  );
  return { functions: functions.rows.map(({ name }) => name), columns: columns.rows };
}

/** What was recorded, in which a later version may have more members, and roles more permissions; no value may differ. */
function withAdditions(recorded: unknown, member = ''): unknown {
  if (Array.isArray(recorded)) {
    return member === 'permissions'
      ? expect.arrayContaining(recorded)
      : recorded.map((each) => withAdditions(each));
  }
  return typeof recorded === 'object' && recorded !== null
    ? expect.objectContaining(
        Object.fromEntries(
          Object.entries(recorded).map(([name, value]) => [name, withAdditions(value, name)]),
        ),
      )
    : recorded;
}

it('every answer about the baseline’s tenant is what it was when it was recorded', async () => {
  const gateway = await openGateway(database, { PUBLIC_URL: publicUrl });
  try {
    const readings = await readAll(gateway, baseline.identities, baseline.held);
    console.log(`compared with the baseline:\n${Object.keys(readings).join('\n')}`);
    for (const [name, answer] of Object.entries(baseline.readings)) {
      expect(readings[name], name).toEqual(withAdditions(answer));
    }
    expect(Object.keys(readings)).toEqual(Object.keys(baseline.readings));
    const said = JSON.stringify(readings);
    for (const kept of ['4711 litres', 'grace@example.org', 'Sentence 1 outlives', 'lighthouse.md']) {
      expect(said).toContain(kept);
    }
  } finally {
    await gateway.close();
  }
});

it('an upgraded database has the catalogue of a new one', async () => {
  const fresh = await createTestDatabase();
  const other = await connect(fresh.adminUrl);
  try {
    // Partitions depend on the day of the run, and the log grows after the restore.
    const lasting = (lines: string[]) =>
      lines.filter((line) => !/_\d{6,8}\b|_\d{6,8}_|app\.log_beginning\(\)/.test(line));
    expect(lasting(await readCatalogue(admin))).toEqual(lasting(await readCatalogue(other)));
  } finally {
    await other.end();
    await fresh.drop();
  }
});

it('what the version before calls and writes is still there: it may run until it is replaced', async () => {
  const now = await readInterfaces();
  expect(now.functions).toEqual(expect.arrayContaining(before.functions));
  const columns = new Map(now.columns.map((column) => [column.name, column]));
  const known = new Set(before.columns.map(({ name }) => name));
  const tableOf = ({ name }: { name: string }) => name.slice(0, name.indexOf('.'));
  const tables = new Set(before.columns.map(tableOf));
  expect(before.columns.filter(({ name, type }) => columns.get(name)?.type !== type)).toEqual([]);
  const demanded = now.columns.filter((column) => column.demanded && !known.has(column.name));
  expect(demanded.filter((column) => tables.has(tableOf(column)))).toEqual([]);
});

it('a second migration changes nothing', async () => {
  const look = async () => ({
    catalogue: await readCatalogue(admin),
    rows: await countRows(admin),
    functions: (
      await admin.query(`select oid, xmin from pg_proc where pronamespace = 'app'::regnamespace order by oid`)
    ).rows,
    files: (await admin.query('select name, checksum, xmin from app.function_files order by name')).rows,
  });
  const first = await look();
  await migrate(environment());
  expect(await look()).toEqual(first);
});

it('functions of a file with another checksum are applied again, and those of no file are dropped', async () => {
  const source = async (name: string) =>
    (await admin.query<{ prosrc: string }>(`select prosrc from pg_proc where proname = $1`, [name])).rows[0]
      ?.prosrc;
  const claim = await source('claim_outbox');
  const access = await source('read_access');
  const damage = async (name: string) =>
    admin.query(`update pg_proc set prosrc = prosrc || ' ' where proname = $1`, [name]);
  await damage('claim_outbox');
  await damage('read_access');
  await admin.query(
    `update app.function_files set checksum = 'of the release before' where name = 'outbox.sql'`,
  );
  await admin.query(`create function app.left_over(p_tenant uuid) returns int language sql as 'select 1'`);
  await migrate(environment());
  expect(await source('claim_outbox')).toBe(claim);
  expect(await source('read_access'), 'of a file that has not changed').toBe(`${access} `);
  expect(await source('left_over')).toBeUndefined();
  await admin.query(`update app.function_files set checksum = '' where name = 'access.sql'`);
  await migrate(environment());
  expect(await source('read_access')).toBe(access);
});

it('a running response of the baseline is finished by today’s worker, behind what it had published', async () => {
  const { held, identities, runningText, tenantId } = baseline;
  const models = await startModelServer([{ name: 'running', text: runningText }]);
  // The vendor's fake listens on another port than at the recording.
  await admin.query(`update models set base_url = $1 where alias = 'running'`, [models.url]);
  const stream = async () =>
    (
      await admin.query<{ events: string }>(
        `select string_agg(events, e'\\n' order by first_n) as events from stream_runs where response_id = $1`,
        [held.running],
      )
    ).rows[0]!.events;
  const published = await stream();
  const stack = await startStack({
    database,
    env: {
      EGRESS_ALLOW: new URL(models.url).origin,
      SEAL_INTERVAL_SECONDS: '1',
      EVENT_RETENTION_DAYS: '36500',
    },
  });
  try {
    const world = { apiKey: identities.owner, spaceId: held.spaceId };
    const client = new ResponsesClient(world, () => stack.gateways[0]!);
    const shown = baseline.readings[`owner /v1/spaces/${held.spaceId}/responses/${held.running}`];
    const prefix = textOf((shown as { data: ResponseRecord }).data);
    expect(runningText.startsWith(prefix) && prefix.length > 0).toBe(true);
    const ended = await client.ended(held.running, 60_000);
    expect(ended.status).toBe('completed');
    expect(textOf(ended)).toBe(runningText);
    expect(published.length).toBeGreaterThan(0);
    expect((await stream()).startsWith(`${published}\n`)).toBe(true);
    const question = {
      input: { text: 'How many litres of red paint did the tower take?' },
      model: 'builtin',
    };
    const asked = await client.create(question, { prefer: 'wait=30' });
    expect(textOf(asked.data), 'from a passage of the baseline').toContain('4711 litres');
    const ask: Ask = async <Row extends object>(text: string, values: unknown[]) =>
      (await admin.query<Row>(text, values)).rows;
    const verify = () => verifyChain(ask, tenantId, { anchors: [], retentionDays: 36_500 });
    await expect.poll(verify).toMatchObject({ findings: [], unsealed: 0 });
    console.log(`went on behind ${prefix.length} of ${runningText.length} characters`);
  } finally {
    await stack.stop();
    await models.stop();
  }
});
