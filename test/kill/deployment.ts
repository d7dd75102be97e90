import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { inject } from 'vitest';
import { findTemporal, temporalCache } from '../../bin/launcher/find-temporal.ts';
import { findFreePort } from '../../bin/launcher/ports.ts';
import { startPostgres, type RunningPostgres } from '../../bin/launcher/postgres.ts';
import { startTemporal, type RunningTemporal } from '../../bin/launcher/temporal.ts';
import { createTestDatabase } from '../support/database.ts';
import { startStack, type Stack, type StackProcess } from '../support/stack.ts';
import { prepareTemplate } from '../support/test-servers.ts';
import { createWorld, scriptedModel, type World } from '../support/world.ts';
import { startKillable, type KillableServer } from './killable-server.ts';
import { knowledge, parts, silent } from './scripts.ts';

/** Servers, gateways and workers of one kill run: all its own, so that all may be killed. */
export interface Deployment {
  postgres: KillableServer<RunningPostgres>;
  temporal: KillableServer<RunningTemporal>;
  stack: Stack;
  world: World;
  /** Rows as the superuser sees them, on a connection of its own. */
  query<Row extends object>(text: string, values?: unknown[]): Promise<Row[]>;
  stop(): Promise<void>;
}

/** A Temporal server on a file, which may be killed. */
export async function startFileTemporal(folder: string): Promise<KillableServer<RunningTemporal>> {
  const { env } = process;
  const { path } = await findTemporal({ cacheDir: temporalCache(env), env });
  const port = await findFreePort();
  const dbFile = join(folder, 'temporal.db');
  return startKillable((log) => startTemporal({ binary: path, port, dbFile, log }), logTo('kill-temporal'));
}

export function temporaryFolder(): { path: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), 'platform-kill-'));
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

export async function deploy(size: { gateways: number; workers: number }): Promise<Deployment> {
  const folder = temporaryFolder();
  const undo: (() => Promise<unknown> | void)[] = [folder.remove];
  const stop = async () => {
    for (const step of undo.reverse()) await step();
    undo.length = 0;
  };
  try {
    const [postgres, temporal, models] = await Promise.all([
      startOwnPostgres(folder.path),
      startFileTemporal(folder.path),
      startModels(folder.path),
    ]);
    undo.push(() => Promise.all([postgres.stop(), temporal.stop(), models.stop()]));
    const server = await prepareTemplate(postgres.current.adminUrl);
    const database = await createTestDatabase(server);
    const world = await createWorld(
      database.unitOfWork,
      [...parts, silent].map(({ script, continuation }) => scriptedModel(models, script.name, continuation)),
    );
    // From here on its server may be killed under it.
    await Promise.all([database.database.close(), database.orm.close(true)]);
    const stack = await startStack({
      database,
      ...size,
      temporalAddress: temporal.current.address,
      env: { EGRESS_ALLOW: new URL(models.url).origin, MAX_ACTIVE_RESPONSES_PER_SPACE: '100' },
    });
    undo.push(() => stack.stop());
    await uploadKnowledge(stack.gateways[0]!, world);
    const query = async <Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> => {
      const client = new Client({ connectionString: database.adminUrl });
      client.on('error', () => undefined);
      await client.connect();
      try {
        return (await client.query<Row>(text, values)).rows;
      } finally {
        await client.end().catch(() => undefined);
      }
    };
    return { postgres, temporal, stack, world, query, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startOwnPostgres(folder: string): Promise<KillableServer<RunningPostgres>> {
  const port = await findFreePort();
  const dataDir = join(folder, 'postgres');
  return startKillable(
    (log) => startPostgres({ dataDir, port, settings: { max_connections: '200' }, log }),
    logTo('kill-postgres'),
  );
}

/** The scripted model as a process of its own, which no kill touches. */
async function startModels(folder: string): Promise<{ url: string; stop: () => Promise<void> }> {
  const scripts = join(folder, 'scripts.json');
  writeFileSync(scripts, JSON.stringify([...parts, silent].map((part) => part.script)));
  const entry = fileURLToPath(new URL('../support/model-server.ts', import.meta.url));
  const child = spawn(process.execPath, [entry, '--scripts', scripts], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const abandon = () => void child.kill('SIGKILL');
  process.once('exit', abandon);
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  return {
    url: (JSON.parse(line) as { url: string }).url,
    stop: async () => {
      process.off('exit', abandon);
      child.kill('SIGKILL');
      await exited;
    },
  };
}

async function uploadKnowledge(gateway: StackProcess, world: World): Promise<void> {
  const base = `${gateway.url}/api/v1/spaces/${world.spaceId}/collections`;
  const headers = { 'X-API-Key': world.apiKey, 'Content-Type': 'application/json' };
  const post = async (url: string, body: object) => {
    const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${url} answered ${answer.status}`);
    return ((await answer.json()) as { data: { id: string } }).data.id;
  };
  const documents = `${base}/${await post(base, { name: 'Almanac' })}/documents`;
  const { filename, content } = knowledge;
  const id = await post(documents, { filename, media_type: 'text/markdown', content });
  for (let waitedMs = 0; waitedMs < 30_000; waitedMs += 100) {
    const answer = await fetch(`${documents}/${id}`, { headers });
    const { data } = (await answer.json()) as { data: { status: string } };
    if (data.status === 'ready') return;
    await sleep(100);
  }
  throw new Error('The document was not ready in time.');
}

function logTo(server: string): (line: string) => void {
  const file = `${inject('logFolder')}/${server}.log`;
  return (line) => appendFileSync(file, `${line}\n`);
}
