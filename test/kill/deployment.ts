import { appendFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { inject } from 'vitest';
import { findTemporal, temporalCache } from '../../bin/launcher/find-temporal.ts';
import { claimPort } from '../support/free-port.ts';
import { startPostgres, type RunningPostgres } from '../../bin/launcher/postgres.ts';
import { startTemporal, type RunningTemporal } from '../../bin/launcher/temporal.ts';
import { makeDataFolder } from '../support/data-folder.ts';
import { createTestDatabase } from '../support/database.ts';
import { startSilentRelay, throughRelay, type SilentRelay } from '../support/silent-relay.ts';
import { startStack, type Stack, type StackProcess } from '../support/stack.ts';
import { prepareTemplate } from '../support/test-servers.ts';
import { startToolServer, type ToolServer } from '../support/tool-servers.ts';
import { createWorld, type World } from '../support/world.ts';
import { startKillable, type KillableServer } from './killable-server.ts';
import { startModels } from './models.ts';
import type { SilenceTarget } from './plan.ts';
import { knowledge, silent, type Part } from './scripts.ts';
import { repeatableTools, toolDelayMs, toolSlug } from './tool-parts.ts';

/** Servers, gateways and workers of one kill run: its own instances, so that all may be killed. */
export interface Deployment {
  postgres: KillableServer<RunningPostgres>;
  temporal: KillableServer<RunningTemporal>;
  stack: Stack;
  world: World;
  /** The tool server of the responses, null without tools. It is never killed. */
  tools: ToolServer | null;
  /** Every process reaches each server through one of these proxies. */
  relays: Record<SilenceTarget, SilentRelay | null>;
  /** Rows as the superuser sees them, on a connection of its own. */
  query: <Row extends object>(text: string, values?: unknown[]) => Promise<Row[]>;
  stop(): Promise<void>;
}

/** A Temporal server with its data in a file, which may be killed. */
export async function startFileTemporal(folder: string): Promise<KillableServer<RunningTemporal>> {
  const { env } = process;
  const { path } = await findTemporal({ cacheDir: temporalCache(env), env });
  const port = await claimPort();
  const dbFile = join(folder, 'temporal.db');
  return startKillable((log) => startTemporal({ binary: path, port, dbFile, log }), logTo('kill-temporal'));
}

export function temporaryFolder(): { path: string; remove: () => void } {
  const path = makeDataFolder();
  const remove = () => rmSync(path, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  process.once('exit', remove);
  return {
    path,
    remove: () => {
      process.off('exit', remove);
      remove();
    },
  };
}

export interface DeploymentSize {
  gateways: number;
  workers: number;
  /** The scripts of the models. */
  parts: readonly Part[];
  /** Origins of more servers that the processes may call. */
  egress?: readonly string[];
}

export async function deploy({ parts, egress = [], ...size }: DeploymentSize): Promise<Deployment> {
  const folder = temporaryFolder();
  const undo: (() => Promise<unknown> | void)[] = [folder.remove];
  const stop = async () => {
    for (const step of undo.toReversed()) await step();
    undo.length = 0;
  };
  try {
    const callsTools = parts.some(({ script }) => script.calls !== undefined);
    const [postgres, temporal, models, tools] = await Promise.all([
      startOwnPostgres(folder.path),
      startFileTemporal(folder.path),
      startModels(folder.path, [...parts, silent]),
      callsTools ? startToolServer({ log: join(folder.path, 'tools') }) : null,
    ]);
    undo.push(() => Promise.all([postgres.stop(), temporal.stop(), models.stop(), tools?.stop()]));
    const relays = {
      postgres: await startSilentRelay({ port: postgres.current.port }),
      temporal: await startSilentRelay({ port: Number(temporal.current.address.split(':')[1]) }),
      model: models.relay,
      tool: tools === null ? null : await startSilentRelay({ port: Number(new URL(tools.url).port) }),
    };
    undo.push(() => Promise.all(Object.values(relays).map(async (relay) => relay?.close())));
    const server = await prepareTemplate(postgres.current.adminUrl);
    const database = await createTestDatabase(server);
    const world = await createWorld(database.unitOfWork, models.rows);
    // From here on its server may be killed while it runs.
    await Promise.all([database.database.close(), database.orm.close(true)]);
    const stack = await startStack({
      database,
      ...size,
      temporalAddress: temporal.current.address,
      env: {
        DATABASE_URL: throughRelay(database.url, relays.postgres),
        DATABASE_PURGE_URL: throughRelay(database.purgeUrl, relays.postgres),
        TEMPORAL_ADDRESS: relays.temporal.address,
        EGRESS_ALLOW: [
          ...models.origins,
          ...egress,
          ...(relays.tool === null ? [] : [`http://${relays.tool.address}`]),
        ].join(','),
        MAX_ACTIVE_RESPONSES_PER_SPACE: '100',
        MAX_STREAMS_PER_PRINCIPAL: '200',
      },
    });
    undo.push(() => stack.stop());
    const call = caller(stack.gateways[0]!, world);
    await uploadKnowledge(call);
    if (tools !== null && relays.tool !== null) {
      await tools.control({ delay_ms: toolDelayMs });
      await registerTools(call, throughRelay(tools.url, relays.tool));
    }
    const query = queryOf(database.adminUrl);
    return { postgres, temporal, stack, world, tools, relays, query, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Queries of the administrator, each over a connection of its own: their server is killed. */
export function queryOf(adminUrl: string): Deployment['query'] {
  return async <Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> => {
    const client = new Client({ connectionString: adminUrl });
    client.on('error', () => undefined);
    await client.connect();
    try {
      return (await client.query<Row>(text, values)).rows;
    } finally {
      await client.end().catch(() => undefined);
    }
  };
}

/** A PostgreSQL server that may be killed. */
export async function startOwnPostgres(folder: string): Promise<KillableServer<RunningPostgres>> {
  const port = await claimPort();
  const dataDir = join(folder, 'postgres');
  return startKillable(
    (log) => startPostgres({ dataDir, port, settings: { max_connections: '200' }, log }),
    logTo('kill-postgres'),
  );
}

type Call = <T>(method: string, path: string, body?: object) => Promise<T>;

/** Operations of the world's space. @throws on any refusal */
function caller(gateway: StackProcess, world: World): Call {
  const headers = { 'X-API-Key': world.apiKey, 'Content-Type': 'application/json' };
  return async <T>(method: string, path: string, body?: object) => {
    const url = `${gateway.url}/api/v1/spaces/${world.spaceId}/${path}`;
    const content = body === undefined ? {} : { headers, body: JSON.stringify(body) };
    const answer = await fetch(url, { method, headers: { 'X-API-Key': world.apiKey }, ...content });
    if (!answer.ok) throw new Error(`${url} answered ${answer.status}: ${await answer.text()}`);
    return ((await answer.json()) as { data: T }).data;
  };
}

async function uploadKnowledge(call: Call): Promise<void> {
  const collection = await call<{ id: string }>('POST', 'collections', { name: 'Almanac' });
  const documents = `collections/${collection.id}/documents`;
  const { filename, content } = knowledge;
  const file = { filename, media_type: 'text/markdown', content };
  const { id } = await call<{ id: string }>('POST', documents, file);
  await until('The document was not ready in time.', async () => {
    const { status } = await call<{ status: string }>('GET', `${documents}/${id}`);
    return status === 'ready';
  });
}

/** Registers the run's tool server as an operator would, once its tools are listed. */
async function registerTools(call: Call, url: string): Promise<void> {
  const server = { slug: toolSlug, url, display_name: 'Ledger' };
  const { mcp_server_config_id: id } = await call<{ mcp_server_config_id: string }>(
    'POST',
    'mcp-servers',
    server,
  );
  await until('The tool server was not read in time.', async () => {
    const { last_checked_at: at } = await call<{ last_checked_at: string | null }>(
      'GET',
      `mcp-servers/${id}`,
    );
    return at !== null;
  });
  await call('PATCH', `mcp-servers/${id}`, {
    enabled_tools: ['*'],
    tools: repeatableTools.map((name) => ({ name, repeatable: true })),
  });
}

async function until(otherwise: string, holds: () => Promise<boolean>): Promise<void> {
  for (let waitedMs = 0; waitedMs < 30_000; waitedMs += 100) {
    if (await holds()) return;
    await sleep(100);
  }
  throw new Error(otherwise);
}

function logTo(server: string): (line: string) => void {
  const file = `${inject('logFolder')}/${server}.log`;
  return (line) => appendFileSync(file, `${line}\n`);
}
