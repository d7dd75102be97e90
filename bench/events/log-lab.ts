import { mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { sealEvents } from '#domain/foundation/events/seal-events.ts';
import { createOrm } from '#domain/operations/schema/orm.ts';
import { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { createTestDatabase, type TestDatabase } from '#test/support/database.ts';
import { fillLog, prepareLog } from '#test/support/event-log.ts';
import { raisedLimits } from '#test/support/raised-limits.ts';
import { masterKey } from '#test/support/stack.ts';
import { connect } from '#test/support/tables.ts';
import { prepareTemplate } from '#test/support/test-servers.ts';
import { createWorld, secrets, type World } from '#test/support/world.ts';
import { findFreePort } from '../../bin/launcher/ports.ts';
import { startPostgres } from '../../bin/launcher/postgres.ts';
import { launch } from '../support/processes.ts';

/** One log of a size, with a gateway of its own. */
export interface Log {
  events: number;
  database: TestDatabase;
  admin: Client;
  world: World;
  /** Of the gateway. */
  url: string;
  /**
   * Seals all unsealed events.
   * @returns events per second
   */
  seal(): Promise<number>;
}

export interface LogLab {
  logs: Log[];
  stop(): Promise<void>;
}

/** Days over which the events of every log are spread. */
export const days = 365;
const chunk = 50_000;

/** A PostgreSQL with a database for each size, so that the measurements are independent. */
export async function openLogLab(sizes: readonly number[], say: (line: string) => void): Promise<LogLab> {
  const folder = mkdtempSync(join(tmpdir(), 'platform-bench-'));
  const undo: (() => Promise<unknown> | void)[] = [
    () => rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }),
  ];
  const stop = async () => {
    for (const step of undo.splice(0).toReversed()) await step();
  };
  try {
    const file = openSync(join(folder, 'postgres.log'), 'a');
    const postgres = await startPostgres({
      dataDir: join(folder, 'postgres'),
      settings: { max_connections: '300', max_wal_size: '4GB' },
      log: (line) => void writeSync(file, `${line}\n`),
    });
    undo.push(() => postgres.stop());
    const server = await prepareTemplate(postgres.adminUrl);
    const logs: Log[] = [];
    for (const events of sizes) {
      logs.push(await openLog({ folder, undo, events, database: await createTestDatabase(server), say }));
    }
    return { logs, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

interface Site {
  folder: string;
  undo: (() => Promise<unknown> | void)[];
  events: number;
  database: TestDatabase;
  say: (line: string) => void;
}

async function openLog({ folder, undo, events, database, say }: Site): Promise<Log> {
  const world = await createWorld(database.unitOfWork);
  const admin = await connect(database.adminUrl);
  const orm = createOrm({ url: database.purgeUrl, statementTimeoutMs: 120_000 });
  const purge = new UnitOfWork(orm);
  undo.push(() =>
    Promise.all([admin.end(), orm.close(true), database.database.close(), database.orm.close(true)]),
  );
  const seal = async () => {
    const began = performance.now();
    const { sealed } = await sealEvents({ purge, secrets });
    return sealed / ((performance.now() - began) / 1_000);
  };
  const began = performance.now();
  await prepareLog(admin, days);
  const rates: number[] = [];
  const writing = { ended: false };
  const fill = async () => {
    try {
      for (let left = events; left > 0; left -= chunk)
        await fillLog(admin, { tenantId: world.tenantId, count: Math.min(chunk, left), days });
    } finally {
      writing.ended = true;
    }
  };
  // Sealed while the log is written, which takes as long.
  const follow = async () => {
    while (!writing.ended) {
      await sleep(100);
      rates.push(await seal());
    }
  };
  await Promise.all([fill(), follow()]);
  rates.push(await seal());
  await admin.query('vacuum analyze');
  await admin.query('checkpoint');
  const { rows } = await admin.query<{ size: string }>(
    'select pg_size_pretty(pg_database_size(current_database())) as size',
  );
  say(
    `${events} events: ${rows[0]?.size}, ready after ${Math.round((performance.now() - began) / 1_000)} s, sealed at up to ${Math.round(Math.max(...rates))} a second`,
  );
  const port = await findFreePort();
  const gateway = await launch({
    name: `gateway-${events}`,
    folder,
    entry: 'api/main.ts',
    port,
    env: {
      // One reader asks as fast as it is answered.
      ...raisedLimits,
      DATABASE_URL: database.url,
      DATABASE_PURGE_URL: database.purgeUrl,
      // No workflow engine is needed.
      TEMPORAL_ADDRESS: '127.0.0.1:1',
      MASTER_KEY: masterKey,
      EXIT_WITH_PARENT: '1',
      PORT: String(port),
      DRAIN_SECONDS: '1',
    },
  });
  undo.push(() => gateway.stop());
  return { events, database, admin, world, url: `http://127.0.0.1:${port}`, seal };
}
