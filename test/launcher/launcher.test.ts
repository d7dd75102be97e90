import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterEach, expect, test } from 'vitest';
import { claimPort } from '../support/free-port.ts';
import { isAlive } from '../../bin/launcher/processes.ts';
import { getJson, newPlace, recordedPids, Started, until, type Place } from './started.ts';

const running: Started[] = [];
const places: Place[] = [];

function start(env: NodeJS.ProcessEnv, script?: string): Started {
  const started = new Started(env, script === undefined ? {} : { script });
  running.push(started);
  return started;
}

async function freshPlace(): Promise<Place> {
  const place = await newPlace();
  places.push(place);
  return place;
}

afterEach(async () => {
  for (const started of running.splice(0)) if (started.process.exitCode === null) await started.stop();
  for (const { dataDirectory } of places.splice(0)) rmSync(dataDirectory, { recursive: true, force: true });
});

function demoKey(started: Started): string {
  return /Demo key +(\S+)/.exec(started.stdout)?.[1] ?? 'none';
}

function allText(folder: string): string {
  return readdirSync(folder)
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .join('\n');
}

async function databaseAnswers({ dataDirectory, ports }: Place): Promise<boolean> {
  const password = readFileSync(join(dataDirectory, 'postgres', 'admin.password'), 'utf8');
  const client = new Client(`postgres://postgres:${password}@127.0.0.1:${ports.POSTGRES_PORT}/platform`);
  // The server may be killed while this is connected.
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('select 1 from started');
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}

test(
  'a start is refused beside a running one, a signal stops everything, and the next start finds data and key',
  { timeout: 90_000 },
  async () => {
    const place = await freshPlace();
    const first = await start(place.env).ready();
    const pids = recordedPids(place);
    expect(Object.keys(pids).sort()).toEqual([
      'gateway',
      'postgres',
      'server',
      'temporal',
      'temporal-server',
      'worker',
    ]);
    expect(await getJson(place.ports.PORT, '/readyz')).toEqual({
      admin: null,
      temporal: `127.0.0.1:${place.ports.TEMPORAL_PORT}`,
      exit: '1',
    });

    const second = start(place.env);
    expect(await second.ended).toBe(1);
    expect(second.stderr).toBe(
      `The platform already runs on ${place.dataDirectory} (process ${first.process.pid}): stop it, or give this start another folder with PLATFORM_DATA_DIR.\n`,
    );
    expect(await getJson(place.ports.PORT, '/readyz')).toBeDefined();

    const { took, code } = await first.stop();
    expect(code).toBe(0);
    expect(took).toBeLessThan(10_000);
    expect(Object.entries(pids).filter(([, pid]) => isAlive(pid))).toEqual([]);

    const third = await start(place.env).ready();
    expect(third.stdout).toContain('starts: 2');
    expect(demoKey(third)).toMatch(/^ak\./);
    expect(demoKey(third)).toBe(demoKey(first));
    expect(allText(join(place.dataDirectory, 'logs'))).toContain('listening');
    expect(allText(join(place.dataDirectory, 'logs'))).not.toContain(demoKey(first));
    for (const secret of ['demo.json', 'master.key', 'app_rt.password', 'postgres/admin.password']) {
      expect(statSync(join(place.dataDirectory, secret)).mode & 0o777, secret).toBe(0o600);
    }
  },
);

test(
  'of two starts at the same moment on one folder one becomes ready and the other is refused',
  { timeout: 60_000 },
  async () => {
    const place = await freshPlace();
    const both = [start(place.env), start(place.env)];
    const refused = await Promise.race(both.map((one) => one.ended.then(() => one)));
    const [winner] = both.filter((one) => one !== refused);
    expect(await refused.ended).toBe(1);
    // The winner writes its number a moment after it has the lock.
    const sentence = (holder: string) =>
      `The platform already runs on ${place.dataDirectory}${holder}: stop it, or give this start another folder with PLATFORM_DATA_DIR.\n`;
    expect([sentence(''), sentence(` (process ${winner!.process.pid})`)]).toContain(refused.stderr);
    expect(refused.stdout).toBe('');
    expect((await winner!.ready()).stdout).toContain('starts: 1');
    expect((await winner!.stop()).code).toBe(0);
  },
);

test(
  'of two first starts on the same ports with folders of their own one becomes ready and the other is refused',
  { timeout: 90_000 },
  async () => {
    const [one, other] = [await freshPlace(), await freshPlace()];
    const env = { ...one.env, PLATFORM_DATA_DIR: other.dataDirectory };
    const both = [start(one.env), start(env)];
    const refused = await Promise.race(both.map((started) => started.ended.then(() => started)));
    expect(await refused.ended).toBe(1);
    expect(refused.stderr).toMatch(/^Port \d+, which .* needs, is taken: [^\n]*\n$/);
    const winner = both.find((started) => started !== refused)!;
    expect((await winner.ready()).stdout).toContain('starts: 1');
    expect((await winner.stop()).code).toBe(0);
  },
);

test(
  'a killed launcher leaves no process, and a start at the same moment works',
  { timeout: 60_000 },
  async () => {
    const place = await freshPlace();
    const first = await start(place.env).ready();
    const pids = recordedPids(place);
    first.process.kill('SIGKILL');
    expect(await first.ended).toBe('SIGKILL');

    const second = await start(place.env).ready();
    expect(Object.entries(pids).filter(([, pid]) => isAlive(pid))).toEqual([]);
    expect(second.stdout).toContain('starts: 2');

    const later = recordedPids(place);
    second.process.kill('SIGKILL');
    await until(() => Object.values(later).every((pid) => !isAlive(pid)), 10_000);
  },
);

test(
  'a server that outlived the launcher and its hosts is ended by the next start, which gets its port',
  { timeout: 90_000 },
  async () => {
    const place = await freshPlace();
    const first = await start(place.env).ready();
    const pids = recordedPids(place);
    first.process.kill('SIGKILL');
    for (const host of ['postgres', 'temporal']) process.kill(pids[host]!, 'SIGKILL');
    await first.ended;
    expect(isAlive(pids['server']!)).toBe(true);
    const second = await start(place.env).ready();
    expect(isAlive(pids['server']!)).toBe(false);
    expect(second.stdout).toContain('starts: 2');
  },
);

test('each child that is killed comes back', { timeout: 60_000 }, async () => {
  const place = await freshPlace();
  const started = await start(place.env).ready();
  for (const name of ['gateway', 'worker', 'temporal-server', 'server', 'temporal', 'postgres']) {
    const before = recordedPids(place)[name]!;
    process.kill(before, 'SIGKILL');
    await until(() => !isAlive(before), 2000);
    await until(async () => {
      const services = await Promise.all([
        getJson(place.ports.PORT, '/readyz'),
        getJson(place.ports.WORKER_PORT, '/readyz'),
      ]);
      const ui = await fetch(`http://127.0.0.1:${place.ports.TEMPORAL_UI_PORT}`).then(
        ({ ok }) => ok,
        () => false,
      );
      // The first one may end at once, where the one before still holds its port.
      const now = recordedPids(place)[name];
      const replaced = now !== undefined && now !== before && isAlive(now);
      return (
        replaced && ui && services.every((answer) => answer !== undefined) && (await databaseAnswers(place))
      );
    }, 10_000);
  }
  expect(started.process.exitCode).toBeNull();
});

test(
  'five crashes of a child end the launcher with the last lines of its log',
  { timeout: 60_000 },
  async () => {
    const place = await freshPlace();
    const crashFile = join(place.dataDirectory, 'crash');
    const started = await start({ ...place.env, CRASH_FILE: crashFile }).ready();
    const pids = recordedPids(place);
    writeFileSync(crashFile, '');
    process.kill(pids['gateway']!, 'SIGKILL');
    expect(await started.ended).toBe(1);
    expect(started.stderr).toContain('last words');
    expect(started.stderr.trimEnd().split('\n').at(-1)).toBe('gateway crashed 5 times within a minute.');
    expect(Object.entries(pids).filter(([, pid]) => isAlive(pid))).toEqual([]);
  },
);

test(
  'each taken port ends the start with one sentence that names port, owner and variable',
  { timeout: 60_000 },
  async () => {
    const owners = {
      PORT: 'the gateway',
      WORKER_PORT: 'the worker',
      TEMPORAL_PORT: 'the Temporal server',
      TEMPORAL_UI_PORT: 'the Temporal UI',
      POSTGRES_PORT: 'PostgreSQL',
    } as const;
    const place = await freshPlace();
    for (const [variable, owner] of Object.entries(owners)) {
      const server = createServer();
      const port = place.ports[variable as keyof typeof owners];
      await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
      const refused = start(place.env, 'bin/start.mjs');
      expect(await refused.ended).toBe(1);
      expect(refused.stderr).toBe(
        `Port ${port}, which ${owner} needs, is taken: stop what uses it, or choose another with ${variable}.\n`,
      );
      await new Promise((resolve) => server.close(resolve));
    }
    expect(readdirSync(join(place.dataDirectory, 'run'))).toEqual([]);
  },
);

test(
  'without any way to a Temporal server the start names the ways and leaves nothing running',
  { timeout: 60_000 },
  async () => {
    const place = await freshPlace();
    const empty = mkdtempSync(join(tmpdir(), 'empty-'));
    const download = `http://127.0.0.1:${await claimPort()}`;
    const env = {
      ...place.env,
      PATH: empty,
      HOME: empty,
      XDG_CACHE_HOME: empty,
      TEMPORAL_DOWNLOAD_URL: download,
    };
    const refused = start(env, 'bin/start.mjs');
    expect(await refused.ended).toBe(1);
    expect(refused.stderr.trimEnd().split('\n').at(-1)).toMatch(
      /^No Temporal server can be had here: put `temporal` on PATH, set TEMPORAL_ADDRESS .* one can be built\.$/,
    );
    expect(readdirSync(join(place.dataDirectory, 'run'))).toEqual([]);
    expect(existsSync(join(place.dataDirectory, 'postgres', 'server.json'))).toBe(false);
    expect(await databaseAnswers(place)).toBe(false);
  },
);

test(
  'a data folder that cannot be written ends the start with one sentence',
  { timeout: 20_000 },
  async () => {
    const place = await freshPlace();
    const file = join(place.dataDirectory, 'a-file');
    writeFileSync(file, '');
    const refused = start({ ...place.env, PLATFORM_DATA_DIR: join(file, 'data') }, 'bin/start.mjs');
    expect(await refused.ended).toBe(1);
    expect(refused.stderr).toBe(
      `The data folder ${join(file, 'data')} cannot be used (ENOTDIR): give write rights on it, or choose another with PLATFORM_DATA_DIR.\n`,
    );
  },
);

test('a migration that fails ends the start with its message', { timeout: 30_000 }, async () => {
  const place = await freshPlace();
  const external = `postgres://nobody:secret-word@127.0.0.1:${await claimPort()}/platform`;
  const refused = start({ ...place.env, DATABASE_URL: external });
  expect(await refused.ended).toBe(1);
  expect(refused.stderr).toContain('ECONNREFUSED');
  expect(refused.stderr.trimEnd().split('\n').at(-1)).toBe('The start stopped while migrating the database.');
  expect(refused.stdout + refused.stderr).not.toContain('secret-word');
  expect(readdirSync(join(place.dataDirectory, 'run'))).toEqual([]);
});
