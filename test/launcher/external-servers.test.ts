import { mkdtempSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { findTemporal, temporalCache } from '../../bin/launcher/find-temporal.ts';
import { claimPort } from '../support/free-port.ts';
import { startPostgres, type RunningPostgres } from '../../bin/launcher/postgres.ts';
import { isAlive } from '../../bin/launcher/processes.ts';
import { startTemporal, type RunningTemporal } from '../../bin/launcher/temporal.ts';
import { newPlace, recordedPids, Started, type Place } from './started.ts';

const folder = mkdtempSync(join(tmpdir(), 'external-'));
let postgres: RunningPostgres;
let temporal: RunningTemporal;
let place: Place;
const running: Started[] = [];

function start(env: NodeJS.ProcessEnv, args: string[] = []): Started {
  const started = new Started(env, { args });
  running.push(started);
  return started;
}

afterEach(async () => {
  for (const started of running.splice(0)) if (started.process.exitCode === null) await started.stop();
});

beforeAll(async () => {
  const env = { HOME: homedir(), ...process.env };
  const { path } = await findTemporal({ cacheDir: temporalCache(env), env });
  [postgres, temporal, place] = await Promise.all([
    startPostgres({ dataDir: folder, settings: { max_connections: '40' } }),
    startTemporal({ binary: path }),
    newPlace(),
  ]);
});

afterAll(async () => {
  await Promise.all([postgres.stop(), temporal.stop()]);
  expect([postgres.pid, temporal.pid].filter(isAlive)).toEqual([]);
  rmSync(folder, { recursive: true, force: true });
  rmSync(place.dataDirectory, { recursive: true, force: true });
});

async function startedRows(): Promise<number> {
  const client = new Client(postgres.adminUrl);
  await client.connect();
  const { rowCount } = await client.query('select from started');
  await client.end();
  return rowCount ?? 0;
}

test('the server takes the settings it is given', async () => {
  const client = new Client(postgres.adminUrl);
  await client.connect();
  const { rows } = await client.query<{ max_connections: string }>('show max_connections');
  await client.end();
  expect(rows).toEqual([{ max_connections: '40' }]);
});

test(
  'servers given by address are used, not started, and get demo data only when asked',
  { timeout: 60_000 },
  async () => {
    const env = { ...place.env, DATABASE_URL: postgres.adminUrl, TEMPORAL_ADDRESS: temporal.address };
    const plain = await start(env).ready();
    expect(Object.keys(recordedPids(place)).sort()).toEqual(['gateway', 'worker']);
    expect(plain.stdout).not.toContain('Demo key');
    expect(plain.stdout).toContain('npm start -- --demo');
    expect(await startedRows()).toBe(0);
    expect((await plain.stop()).code).toBe(0);

    const seeded = await start(env, ['--demo']).ready();
    expect(seeded.stdout).toContain('Demo key');
    expect(await startedRows()).toBe(1);
    expect((await seeded.stop()).code).toBe(0);
    expect(isAlive(postgres.pid)).toBe(true);
    expect(isAlive(temporal.pid)).toBe(true);
  },
);

test(
  'a Temporal address that does not answer ends the start with one sentence',
  { timeout: 30_000 },
  async () => {
    const address = `127.0.0.1:${await claimPort()}`;
    const refused = start({ ...place.env, DATABASE_URL: postgres.adminUrl, TEMPORAL_ADDRESS: address });
    expect(await refused.ended).toBe(1);
    expect(refused.stderr.trimEnd().split('\n').at(-1)).toBe(
      `The Temporal server at ${address} (TEMPORAL_ADDRESS) does not offer the namespace "default" with the search attributes TenantId and SpaceId: check the address, or unset it to have a server started here.`,
    );
  },
);

test('data committed by a killed server is there after the next start', { timeout: 30_000 }, async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'killed-'));
  const first = await startPostgres({ dataDir });
  const client = new Client(first.adminUrl);
  client.on('error', () => {});
  await client.connect();
  await client.query('create table kept as select 1 as n');
  first.kill();
  await first.stop();
  await client.end().catch(() => {});
  expect(isAlive(first.pid)).toBe(false);
  const second = await startPostgres({ dataDir, port: first.port });
  const again = new Client(second.adminUrl);
  await again.connect();
  expect((await again.query('select n from kept')).rows).toEqual([{ n: 1 }]);
  await again.end();
  await second.stop();
  rmSync(dataDir, { recursive: true, force: true });
});
