import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Connection, Client } from '@temporalio/client';
import { findFreePort } from '../bin/launcher/ports.ts';
import { cpuBelow, type ProcessCpu } from './support/cpu.ts';

/**
 * The cost of an idle `npm start`, per process, and what it writes into Temporal's list of runs. `npm run
 * bench:idle -- --seconds 60 --settle 30`
 */
const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    settle: { type: 'string', default: '30' },
    json: { type: 'boolean', default: false },
  },
});
const seconds = Number(values.seconds);
const folder = mkdtempSync(join(tmpdir(), 'platform-idle-'));
const names = [
  'PORT',
  'WORKER_PORT',
  'TEMPORAL_PORT',
  'TEMPORAL_UI_PORT',
  'POSTGRES_PORT',
  'IDP_PORT',
] as const;
const ports = Object.fromEntries(
  await Promise.all(names.map(async (name) => [name, String(await findFreePort())])),
);
const platform = spawn(process.execPath, ['bin/start.mjs'], {
  env: { ...process.env, ...ports, PLATFORM_DATA_DIR: folder },
  stdio: ['ignore', 'pipe', 'inherit'],
});

/** The role of one of our processes, by its command line. */
function roleOf({ pid }: ProcessCpu): string {
  const command = readCommand(pid);
  const roles: [RegExp, string][] = [
    [/api\/main\.ts/, 'gateway'],
    [/temporal\/worker\.ts/, 'worker'],
    [/server start-dev/, 'Temporal server'],
    [/postgres/, 'PostgreSQL'],
    [/identity-provider/, 'identity provider'],
  ];
  return roles.find(([pattern]) => pattern.test(command))?.[1] ?? 'launcher';
}

function readCommand(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return '';
  }
}

/** Percent of a core for each role between two looks; a process that ended between them is not counted. */
function shares(before: ProcessCpu[], after: ProcessCpu[], elapsedMs: number): Record<string, number> {
  const start = new Map(before.map(({ pid, ms }) => [pid, ms]));
  const found: Record<string, number> = {};
  for (const each of after) {
    const role = roleOf(each);
    found[role] = (found[role] ?? 0) + ((each.ms - (start.get(each.pid) ?? 0)) / elapsedMs) * 100;
  }
  return found;
}

async function countRuns(): Promise<number> {
  const connection = await Connection.connect({ address: `127.0.0.1:${ports['TEMPORAL_PORT']}` });
  try {
    const { count } = await new Client({ connection }).workflow.count();
    return count;
  } finally {
    await connection.close();
  }
}

try {
  await new Promise<void>((resolve, reject) => {
    let screen = '';
    platform.stdout.on('data', (chunk: Buffer) => {
      screen += String(chunk);
      if (screen.includes('Ready after')) resolve();
    });
    platform.once('exit', () => reject(new Error(`It ended before it was ready: ${screen}`)));
  });
  await sleep(Number(values.settle) * 1_000);
  const [runsBefore, before, since] = [await countRuns(), cpuBelow(platform.pid!), performance.now()];
  await sleep(seconds * 1_000);
  const found = shares(before, cpuBelow(platform.pid!), performance.now() - since);
  const runs = (await countRuns()) - runsBefore;
  const total = Object.values(found).reduce((sum, share) => sum + share, 0);
  if (values.json) {
    console.log(JSON.stringify({ seconds, runs, total, ...found }));
  } else {
    for (const [role, share] of Object.entries(found))
      console.log(`${role.padEnd(20)} ${share.toFixed(2)} % of a core`);
    console.log(`${'in all'.padEnd(20)} ${total.toFixed(2)} % of a core over ${seconds} s`);
    console.log(`${'new runs in Temporal'.padEnd(20)} ${runs}`);
  }
} finally {
  platform.kill('SIGTERM');
  if (platform.exitCode === null) await once(platform, 'exit');
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
}
