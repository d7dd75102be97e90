import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { claimPort } from '../support/free-port.ts';

const STAND_INS = 'test/launcher/stand-ins/start.ts';

export interface Place {
  dataDirectory: string;
  ports: {
    PORT: number;
    WORKER_PORT: number;
    TEMPORAL_PORT: number;
    TEMPORAL_UI_PORT: number;
    POSTGRES_PORT: number;
  };
  env: NodeJS.ProcessEnv;
}

/** A folder and ports of its own, so that tests run in parallel and beside a started platform. */
export async function newPlace(): Promise<Place> {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'launcher-'));
  const [PORT, WORKER_PORT, TEMPORAL_PORT, TEMPORAL_UI_PORT, POSTGRES_PORT] = await Promise.all([
    claimPort(),
    claimPort(),
    claimPort(),
    claimPort(),
    claimPort(),
  ]);
  const ports = { PORT, WORKER_PORT, TEMPORAL_PORT, TEMPORAL_UI_PORT, POSTGRES_PORT };
  const texts = Object.fromEntries(Object.entries(ports).map(([name, port]) => [name, String(port)]));
  const { PATH, HOME, XDG_CACHE_HOME } = process.env;
  return {
    dataDirectory,
    ports,
    env: { PATH, HOME, XDG_CACHE_HOME, ...texts, PLATFORM_DATA_DIR: dataDirectory },
  };
}

export class Started {
  readonly process: ChildProcess;
  readonly ended: Promise<number | NodeJS.Signals>;
  stdout = '';
  stderr = '';

  constructor(
    env: NodeJS.ProcessEnv,
    { script = STAND_INS, args = [] }: { script?: string; args?: string[] } = {},
  ) {
    this.process = spawn(process.execPath, [script, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.process.stdout?.on('data', (chunk: Buffer) => (this.stdout += chunk.toString()));
    this.process.stderr?.on('data', (chunk: Buffer) => (this.stderr += chunk.toString()));
    this.ended = new Promise((resolve) =>
      this.process.once('close', (code, signal) => resolve(signal ?? code ?? -1)),
    );
  }

  async ready(): Promise<this> {
    await until(() => {
      if (this.process.exitCode !== null) throw new Error(`ended: ${this.stdout}${this.stderr}`);
      return this.stdout.includes('Ctrl-C stops everything');
    }, 40_000);
    return this;
  }

  /** Milliseconds from the signal to the end, and the exit code. */
  async stop(): Promise<{ took: number; code: number | NodeJS.Signals }> {
    const since = Date.now();
    this.process.kill('SIGINT');
    const code = await this.ended;
    return { took: Date.now() - since, code };
  }
}

export async function until(check: () => boolean | Promise<boolean>, withinMs: number): Promise<void> {
  for (const deadline = Date.now() + withinMs; ; await sleep(50)) {
    if (await check()) return;
    if (Date.now() > deadline) throw new Error(`not within ${withinMs} ms: ${check.toString()}`);
  }
}

/** The pids of everything a start runs, by name. */
export function recordedPids({ dataDirectory }: Place): Record<string, number> {
  const run = join(dataDirectory, 'run');
  const server = join(dataDirectory, 'postgres', 'server.json');
  const files = readdirSync(run).map((name) => join(run, name));
  if (existsSync(server)) files.push(server);
  const name = (file: string): string => file.replace(/^.*\/(?:run\/)?/, '').replace('.json', '');
  return Object.fromEntries(files.map((file) => [name(file), readPid(file)]));
}

function readPid(file: string): number {
  try {
    return (JSON.parse(readFileSync(file, 'utf8')) as { pid: number }).pid;
  } catch {
    // Just being replaced.
    return 0;
  }
}

export async function getJson(port: number, path: string): Promise<Record<string, unknown> | undefined> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { signal: AbortSignal.timeout(1000) });
    return (await response.json()) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}
