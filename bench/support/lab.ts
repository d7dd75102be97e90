import { mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { createTestDatabase } from '#test/support/database.ts';
import { raisedLimits as raisedRequests } from '#test/support/raised-limits.ts';
import { masterKey } from '#test/support/stack.ts';
import { prepareTemplate } from '#test/support/test-servers.ts';
import { addMember, createWorld, scriptedModel, type World } from '#test/support/world.ts';
import { findTemporal, temporalCache } from '../../bin/launcher/find-temporal.ts';
import { findFreePort } from '../../bin/launcher/ports.ts';
import { startPostgres } from '../../bin/launcher/postgres.ts';
import { startTemporal } from '../../bin/launcher/temporal.ts';
import { launch, launchPeer, type BenchProcess, type LaunchInput, type Peer } from './processes.ts';

/** Everything that one run measures: one PostgreSQL, one Temporal server, our processes, and a model. */
export interface Lab {
  folder: string;
  postgres: { pid: number; adminUrl: string };
  temporal: { pid: number; address: string; client: Client };
  gateway: BenchProcess;
  gatewayUrl: string;
  /** One more, fresh gateway. */
  addGateway(): Promise<BenchProcess & { url: string }>;
  worker: BenchProcess;
  /** One more worker. */
  addWorker(): Promise<BenchProcess>;
  modelUrl: string;
  world: World;
  /** More tenants with the same models. */
  others: World[];
  /** Keys of members who may read every response of the space, one each. */
  readers: string[];
  /** A peer process; it ends with the run. */
  addPeer<T>(input: Omit<LaunchInput, 'folder'>): Promise<Peer<T>>;
  /** Runs the bare workflows; started once. */
  bareWorker(): Promise<BenchProcess>;
  stop(): Promise<void>;
}

/** Raised, so that many callers with one key are measured and not refused; never off. */
const raisedLimits = {
  MAX_ACTIVE_RESPONSES_PER_SPACE: '5000',
  MAX_STREAMS_PER_PRINCIPAL: '5000',
  MAX_STREAMS_PER_TENANT: '5000',
  ...raisedRequests,
};

export const models = {
  tools: (rounds: number): string => `instant-${rounds}`,
  paced: (tokens: number, paceMs: number): string => `paced-${tokens}-${paceMs}`,
  silent: 'silent',
};

/** Milliseconds between two tokens of a stream: many streams go at the fastest pace that the floor can follow. */
export const pacesMs = [20, 50, 100, 200] as const;

/** Tokens of a stream at this pace, so that a stream takes equally long at every pace. */
export function tokensAt(paceMs: number, tokensAtFirstPace: number): number {
  return Math.ceil((tokensAtFirstPace * pacesMs[0]) / paceMs);
}

export interface LabOptions {
  toolRounds: readonly number[];
  pacedTokens: number;
  readers: number;
  /** Tenants besides the first. */
  others?: number;
  /** false: no document is uploaded before the run. */
  knowledge?: boolean;
  /** Where our processes write a profile of their processor time, if anywhere. */
  profiles?: string;
  /** Settings of gateways and workers. */
  env?: Readonly<Record<string, string>>;
  /** Origins that they may reach beside the model. */
  origins?: readonly string[];
}

export async function openLab(options: LabOptions): Promise<Lab> {
  const folder = mkdtempSync(join(tmpdir(), 'platform-bench-'));
  const undo: (() => Promise<unknown> | void)[] = [
    () => rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }),
  ];
  const stop = async () => {
    for (const step of undo.splice(0).toReversed()) await step();
  };
  try {
    return await assemble(options, { folder, undo, stop });
  } catch (error) {
    await stop();
    throw error;
  }
}

interface Site {
  folder: string;
  undo: (() => Promise<unknown> | void)[];
  stop: () => Promise<void>;
}

async function assemble(options: LabOptions, { folder, undo, stop }: Site): Promise<Lab> {
  const log = (server: string) => {
    // Through an open handle: a server may write its last lines after the folder was removed.
    const file = openSync(join(folder, `${server}.log`), 'a');
    return (line: string) => void writeSync(file, `${line}\n`);
  };
  const { env } = process;
  const postgres = await startPostgres({
    dataDir: join(folder, 'postgres'),
    settings: { max_connections: '300', shared_preload_libraries: 'pg_stat_statements' },
    log: log('postgres'),
  });
  undo.push(() => postgres.stop());
  const { path: binary } = await findTemporal({ cacheDir: temporalCache(env), env });
  const temporal = await startTemporal({
    binary,
    dbFile: join(folder, 'temporal.db'),
    log: log('temporal'),
  });
  undo.push(() => temporal.stop());
  const addPeer: Lab['addPeer'] = async (input) => {
    const peer = await launchPeer<never>({ ...input, folder });
    undo.push(() => peer.stop());
    return peer;
  };
  const model = await addPeer<{ url: string }>({ name: 'model', entry: 'bench/peers/model.ts' });
  const database = await createTestDatabase(await prepareTemplate(postgres.adminUrl));
  const names = [
    ...options.toolRounds.map(models.tools),
    ...pacesMs.map((paceMs) => models.paced(tokensAt(paceMs, options.pacedTokens), paceMs)),
    models.silent,
  ];
  const scripted = names.map((name) => scriptedModel({ url: `${model.said.url}/v1` }, name));
  const world = await createWorld(database.unitOfWork, scripted);
  const others: World[] = [];
  while (others.length < (options.others ?? 0)) others.push(await createWorld(database.unitOfWork, scripted));
  const readers: string[] = [];
  while (readers.length < options.readers)
    readers.push((await addMember(database.unitOfWork, world, { spaceRole: 'space_editor' })).apiKey);
  await Promise.all([database.database.close(), database.orm.close(true)]);
  const connection = await Connection.connect({ address: temporal.address });
  undo.push(() => connection.close());
  const shared = {
    ...raisedLimits,
    DATABASE_URL: database.url,
    DATABASE_PURGE_URL: database.purgeUrl,
    TEMPORAL_ADDRESS: temporal.address,
    MASTER_KEY: masterKey,
    EXIT_WITH_PARENT: '1',
    EGRESS_ALLOW: [new URL(model.said.url).origin, ...(options.origins ?? [])].join(','),
    ...options.env,
  };
  const profiling =
    options.profiles === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${options.profiles}`];
  const addWorker: Lab['addWorker'] = async () => {
    const port = await findFreePort();
    const started = await launch({
      name: `worker-${port}`,
      folder,
      entry: 'temporal/worker.ts',
      port,
      env: { ...shared, WORKER_PORT: String(port) },
      flags: profiling,
    });
    undo.push(() => started.stop());
    return started;
  };
  const worker = await addWorker();
  const addGateway: Lab['addGateway'] = async () => {
    const port = await findFreePort();
    const gateway = await launch({
      name: `gateway-${port}`,
      folder,
      entry: 'api/main.ts',
      port,
      env: { ...shared, PORT: String(port), DRAIN_SECONDS: '1' },
      flags: ['--expose-gc', '--import', './bench/support/collect-on-signal.ts', ...profiling],
    });
    undo.push(() => gateway.stop());
    return { ...gateway, url: `http://127.0.0.1:${port}` };
  };
  const gateway = await addGateway();
  let bareWorker: Promise<BenchProcess> | undefined;
  const lab: Lab = {
    folder,
    postgres: { pid: postgres.pid, adminUrl: new URL(database.adminUrl).href },
    temporal: { pid: temporal.pid, address: temporal.address, client: new Client({ connection }) },
    gateway,
    gatewayUrl: gateway.url,
    addGateway,
    worker,
    addWorker,
    modelUrl: model.said.url,
    world,
    others,
    readers,
    addPeer,
    bareWorker: () =>
      (bareWorker ??= addPeer({
        name: 'bare-worker',
        entry: 'bench/peers/bare-worker.ts',
        env: { TEMPORAL_ADDRESS: temporal.address },
      })),
    stop,
  };
  if (options.knowledge !== false) await uploadKnowledge(lab);
  return lab;
}

/** A document to find, so that a search does its work. */
async function uploadKnowledge({ gatewayUrl, world }: Lab): Promise<void> {
  const base = `${gatewayUrl}/api/v1/spaces/${world.spaceId}/collections`;
  const headers = { 'X-API-Key': world.apiKey, 'Content-Type': 'application/json' };
  const call = async (url: string, body?: object) => {
    const sent = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    const answer = await fetch(url, { headers, ...sent });
    if (!answer.ok) throw new Error(`${url} answered ${answer.status}`);
    return ((await answer.json()) as { data: { id: string; status: string } }).data;
  };
  const documents = `${base}/${(await call(base, { name: 'Almanac' })).id}/documents`;
  const content = '# Tides\n\nThe moon pulls at the sea, and the tides follow it around the earth.\n';
  const { id } = await call(documents, { filename: 'tides.md', media_type: 'text/markdown', content });
  for (let waitedMs = 0; (await call(`${documents}/${id}`)).status !== 'ready'; waitedMs += 100) {
    if (waitedMs > 30_000) throw new Error('The document was not ready in time.');
    await sleep(100);
  }
}
