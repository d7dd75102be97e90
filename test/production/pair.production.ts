import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { Client as PostgresClient } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createOrm } from '#domain/operations/schema/orm.ts';
import { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { findTemporal, temporalCache } from '../../bin/launcher/find-temporal.ts';
import { silentProgress } from '../../bin/launcher/output.ts';
import { claimPort } from '../support/free-port.ts';
import { startPostgres, type RunningPostgres } from '../../bin/launcher/postgres.ts';
import { readCompose } from '../support/compose.ts';
import { startModelServer, type ModelServer } from '../support/model-server.ts';
import { ResponsesClient, textOf } from '../support/responses-client.ts';
import { followResponse } from '../support/sse-recorder.ts';
import { splitFrames } from '../support/sse-frames.ts';
import { masterKey } from '../support/stack.ts';
import { createWorld, scriptedModel, type World } from '../support/world.ts';
import { HostServices, untilHealthy, type Running } from './host-services.ts';
import { findCaddy, findTemporalServer, findTemporalUi, frontConfiguration } from './image-programs.ts';

/** What runs in production, on this machine: the compose file's own commands, Temporal on PostgreSQL. */
const { services } = readCompose().file;
const text = Array.from(
  { length: 14 },
  (_, i) => `Sentence ${i * i} is begun by one half of the pair and ended by the other.`,
).join(' ');
const secret = () => randomBytes(24).toString('hex');
/** The code of a sign-in, which comes in a query. */
const canary = secret();
const folder = mkdtempSync(join(tmpdir(), 'platform-production-'));

let postgres: RunningPostgres;
let models: ModelServer;
let host: HostServices;
let temporal: Running;
let temporalUi: Running;
let front: Running;
let gateways: Running[] = [];
let workers: Running[] = [];
let world: World;
const env: Record<string, string> = {
  MASTER_KEY: masterKey,
  POSTGRES_PASSWORD: '',
  TEMPORAL_DB_PASSWORD: secret(),
  APP_RT_PASSWORD: secret(),
  APP_PURGE_PASSWORD: secret(),
  APP_VERIFIER_PASSWORD: secret(),
};

const launch = async (name: 'api' | 'worker', port?: number) =>
  host.launch(name, { port: port ?? (await claimPort()) });

/** The settings that the file gives to its PostgreSQL. */
function postgresSettings(): Record<string, string> {
  const words = services['postgres']?.command ?? [];
  return Object.fromEntries(
    words.filter((word) => word.includes('=')).map((word) => word.split('=') as [string, string]),
  );
}

/** As `deploy/postgres` does when the image creates its volume. */
async function createTemporalRole(adminUrl: string): Promise<void> {
  const script = readFileSync(
    new URL('../../deploy/postgres/create-temporal-role.sh', import.meta.url),
    'utf8',
  );
  const statement = /^create role .*;$/m.exec(script)?.[0] ?? '';
  const client = new PostgresClient({ connectionString: adminUrl });
  await client.connect();
  await client.query(statement.replace(":'password'", client.escapeLiteral(env['TEMPORAL_DB_PASSWORD']!)));
  await client.end();
}

beforeAll(async () => {
  const versionOf = (name: string) => /:([\d.]+)/.exec(services[name]!.image)![1]!;
  const progress = { ...silentProgress, note: (line: string) => void process.stderr.write(`${line}\n`) };
  const [caddy, programs, ui, { path: cli }] = [
    await findCaddy(versionOf('front'), progress),
    await findTemporalServer(versionOf('temporal'), progress),
    await findTemporalUi(versionOf('temporal-ui'), { root: join(folder, 'ui'), progress }),
    await findTemporal({ cacheDir: temporalCache(process.env), env: process.env }),
  ];
  models = await startModelServer([{ name: 'slow', text, tokenDelayMs: 20 }]);
  env['EGRESS_ALLOW'] = new URL(models.url).origin;
  postgres = await startPostgres({ dataDir: join(folder, 'postgres'), settings: postgresSettings() });
  env['POSTGRES_PASSWORD'] = new URL(postgres.adminUrl).password;
  await createTemporalRole(postgres.adminUrl);
  const temporalPort = await claimPort();
  host = new HostServices(services, {
    folder,
    env,
    postgresPort: postgres.port,
    temporalPort,
    programs: [programs.folder, dirname(cli), caddy],
  });
  const health = () => host.health('postgres', postgres.port);
  await untilHealthy({ name: 'postgres', health, tail: () => '' });
  // Each of them is restarted by a new deployment, so each must survive it.
  for (let times = 0; times < 2; times += 1) expect(await host.runOnce('temporal-schema')).toBe(0);
  const inner = ['FRONTEND_HTTP', 'FRONTEND_MEMBERSHIP'];
  for (const service of ['MATCHING', 'HISTORY', 'WORKER'])
    inner.push(`${service}_GRPC`, `${service}_MEMBERSHIP`);
  const extra: Record<string, string> = { FRONTEND_GRPC_PORT: String(temporalPort) };
  for (const name of inner) extra[`${name}_PORT`] = String(await claimPort());
  temporal = host.launch('temporal', {
    port: temporalPort,
    command: [programs.server, 'start'],
    extra,
  });
  await untilHealthy(temporal);
  for (let times = 0; times < 2; times += 1) {
    expect(await host.runOnce('temporal-namespace')).toBe(0);
    expect(await host.runOnce('migrate')).toBe(0);
  }
  const uiPort = await claimPort();
  temporalUi = host.launch('temporal-ui', {
    port: uiPort,
    command: ui.command,
    extra: { TEMPORAL_UI_PORT: String(uiPort) },
  });
  const replicas = (name: string) => Array.from({ length: services[name]!.deploy!.replicas });
  gateways = await Promise.all(replicas('api').map(() => launch('api')));
  workers = await Promise.all(replicas('worker').map(() => launch('worker')));
  await Promise.all([temporalUi, ...gateways, ...workers].map((each) => untilHealthy(each)));
  const frontPort = await claimPort();
  const configuration = join(folder, 'Caddyfile');
  writeFileSync(
    configuration,
    frontConfiguration(
      frontPort,
      gateways.map(({ port }) => port),
    ),
  );
  front = host.launch('front', {
    port: frontPort,
    mounts: { '/deploy/Caddyfile': configuration },
    // Caddy stores its last configuration in its home.
    extra: { HOME: folder },
  });
  await untilHealthy(front);
  const orm = createOrm({
    url: `postgres://app_rt:${env['APP_RT_PASSWORD']}@127.0.0.1:${postgres.port}/platform`,
    statementTimeoutMs: 10_000,
  });
  world = await createWorld(new UnitOfWork(orm), [scriptedModel(models, 'slow')]);
  await orm.close(true);
}, 900_000);

afterAll(async () => {
  await host?.stopAll();
  await models?.stop();
  await postgres?.stop();
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
});

/** A client speaks to the front only. */
const client = () => new ResponsesClient(world, () => ({ url: `http://127.0.0.1:${front.port}` }));

/** Sends requests to the front, again after each break, as clients do. */
function follow(question: number) {
  return followResponse({
    timeoutMs: 60_000,
    request: () => ({
      url: client().url(),
      method: 'POST',
      headers: { ...client().headers, 'idempotency-key': `pair-${question}` },
      body: { input: { text: `Question ${question}` }, tools: [], stream: true },
    }),
  });
}

test('two gateways and two workers are up, and every health check says so', async () => {
  expect([gateways.length, workers.length]).toEqual([2, 2]);
  const running = [temporal, temporalUi, ...gateways, ...workers, front];
  const healthy = await Promise.all(running.map((each) => each.health()));
  expect(healthy).toEqual([0, 0, 0, 0, 0, 0, 0]);
  expect(await host.health('postgres', postgres.port)).toBe(0);
  expect(await host.health('postgres', await claimPort()), 'nobody is there').toBe(2);
});

test('Temporal keeps its histories in PostgreSQL, with the shards and the settings of the file', async () => {
  const client = new PostgresClient({
    connectionString: postgres.adminUrl.replace(/platform$/, 'temporal'),
  });
  await client.connect();
  const { rows } = await client.query('select count(*)::int as shards from shards');
  await client.end();
  expect(rows).toEqual([{ shards: 4 }]);
});

test('every response completes while one gateway and one worker of the pairs are killed', async () => {
  const following = Array.from({ length: 8 }, (_, i) => follow(i));
  while (models.requests.filter(({ streamed }) => streamed.length > 100).length < 8) await sleep(20);
  const [gateway, worker] = [gateways[0]!, workers[0]!];
  await Promise.all([gateway.kill(), worker.kill()]);
  expect([await gateway.health(), await worker.health()]).toEqual([1, 1]);
  expect([await gateways[1]!.health(), await workers[1]!.health()]).toEqual([0, 0]);
  const recordings = await Promise.all(following);
  expect(recordings.map(({ done }) => done)).toEqual(recordings.map(() => true));
  // The front has another gateway for reconnecting clients: none of them is refused.
  expect(recordings.map(({ refusals }) => refusals)).toEqual(recordings.map(() => 0));
  const broken = recordings.filter(({ segments }) => segments.length > 1);
  expect(broken.length).toBeGreaterThan(0);
  for (const { segments } of recordings) {
    const frames = segments.flatMap((segment) => splitFrames(segment.bytes).frames);
    const deltas = frames.filter(({ event }) => event === 'response.output_text.delta');
    expect(deltas.map(({ json }) => json!['delta']).join('')).toBe(text);
  }
  // Work of the killed worker was restarted by the other one.
  expect(models.requests.filter(({ attempt }) => attempt > 1).length).toBeGreaterThan(0);
  // As `restart: unless-stopped` does.
  [gateways[0], workers[0]] = [await launch('api', gateway.port), await launch('worker')];
  await Promise.all([untilHealthy(gateways[0]), untilHealthy(workers[0])]);
});

test('the front publishes neither metrics nor readiness of the gateways', async () => {
  const statuses = async (port: number) =>
    Promise.all(
      ['/metrics', '/readyz', '//metrics', '/%6detrics', '/readyz?x=1', '/healthz'].map(
        async (path) => (await fetch(`http://127.0.0.1:${port}${path}`)).status,
      ),
    );
  expect(await statuses(front.port)).toEqual([404, 404, 404, 404, 404, 200]);
  expect((await statuses(gateways[1]!.port)).slice(0, 2)).toEqual([200, 200]);
});

test('the front forwards each event as it arrives', async () => {
  const stream = await fetch(client().url(), {
    method: 'POST',
    headers: { ...client().headers, 'content-type': 'application/json' },
    body: JSON.stringify({ input: { text: 'One by one?' }, tools: [], stream: true }),
  });
  let seen = '';
  for await (const chunk of stream.body!.pipeThrough(new TextDecoderStream())) {
    seen += chunk;
    if (seen.includes('response.output_text.delta')) break;
  }
  expect(models.requests.at(-1)!.streamed.length).toBeLessThan(text.length);
});

test('a response is one workflow in the namespace that the file prepares', async () => {
  const { data } = await client().create({ input: { text: 'Is anybody there?' }, tools: [] });
  const record = await client().ended(data.id, 60_000);
  expect(textOf(record)).toBe(text);
  const connection = await Connection.connect({ address: `127.0.0.1:${temporal.port}` });
  const handle = new Client({ connection }).workflow.getHandle(`response/${world.tenantId}/${data.id}`);
  await handle.result();
  expect((await handle.describe()).status.name).toBe('COMPLETED');
  await connection.close();
});

test('each stops within its grace period when it is asked to', async () => {
  const stopped = await Promise.all([...gateways, ...workers].map((each) => each.stop()));
  expect(stopped).toEqual(stopped.map(() => ({ code: 0, inTime: true })));
  const callback = `http://127.0.0.1:${front.port}/api/v1/auth/oidc/acme/callback?code=${canary}`;
  expect((await fetch(callback)).status, 'no gateway is there').toBeGreaterThanOrEqual(502);
  expect(await front.stop()).toEqual({ code: 0, inTime: true });
  expect(await front.health(), 'nobody is there').not.toBe(0);
  expect(await temporalUi.stop()).toMatchObject({ inTime: true });
  expect(await temporalUi.health(), 'nobody is there').not.toBe(0);
  expect(await temporal.stop()).toMatchObject({ inTime: true });
});

test('no service has written a secret into its log', () => {
  const logs = readdirSync(folder).filter((name) => name.endsWith('.log'));
  // The front logs cut streams, and a request with a code in its query.
  const received = readFileSync(join(folder, 'front.log'), 'utf8');
  expect(received).toContain('aborting with incomplete response');
  expect(received).toContain('/auth/oidc/acme/callback');
  for (const name of logs) {
    const log = readFileSync(join(folder, name), 'utf8');
    for (const value of [canary, world.apiKey, ...Object.values(env).filter((each) => each.length > 40)])
      expect(log.includes(value), name).toBe(false);
  }
});
