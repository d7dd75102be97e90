import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Client, Connection } from '@temporalio/client';
import { afterEach, expect, test } from 'vitest';
import { findTemporal, temporalCache } from '../../bin/launcher/find-temporal.ts';
import { startTemporal, type RunningTemporal } from '../../bin/launcher/temporal.ts';

const folder = mkdtempSync(join(tmpdir(), 'temporal-file-'));
const dbFile = join(folder, 'temporal.db');
let server: RunningTemporal | undefined;

afterEach(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function start(): Promise<void> {
  const { env } = process;
  const { path } = await findTemporal({ cacheDir: temporalCache(env), env });
  server = await startTemporal({ binary: path, dbFile });
}

async function withClient<T>(use: (client: Client) => Promise<T>): Promise<T> {
  const connection = await Connection.connect({ address: server!.address });
  try {
    return await use(new Client({ connection }));
  } finally {
    await connection.close();
  }
}

const begin = (workflowId: string) =>
  withClient(({ workflow }) => workflow.start('waits', { taskQueue: 'nobody', workflowId }));

const statusOf = (workflowId: string) =>
  withClient(async ({ workflow }) => (await workflow.getHandle(workflowId).describe()).status.name);

function journalMode(change = ''): unknown {
  const database = new DatabaseSync(dbFile);
  try {
    return database.prepare(`pragma journal_mode${change}`).get()?.['journal_mode'];
  } finally {
    database.close();
  }
}

test('a server of a file writes ahead, and keeps everything over a kill, and in a file that had a journal', async () => {
  await start();
  expect(journalMode()).toBe('wal');
  await begin('before-kill');
  server!.kill();
  await server!.stop();

  await start();
  expect(await statusOf('before-kill')).toBe('RUNNING');
  await begin('before-stop');
  await server!.stop();
  expect(journalMode(' = delete')).toBe('delete');

  await start();
  expect(journalMode()).toBe('wal');
  expect(await statusOf('before-kill')).toBe('RUNNING');
  expect(await statusOf('before-stop')).toBe('RUNNING');
});
