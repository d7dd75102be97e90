import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { ErasureStep } from '#domain/operations/erasure/erasure-step.ts';
import { openErasureWorld } from '#test/support/erasure-world.ts';
import { masterKey } from '#test/support/stack.ts';
import { raisedLimits } from '#test/support/raised-limits.ts';
import { connect } from '#test/support/tables.ts';
import { countTenantRows, fillTenant } from '#test/support/tenant-rows.ts';
import { prepareTemplate } from '#test/support/test-servers.ts';
import { createWorld, type World } from '#test/support/world.ts';
import { findFreePort } from '../bin/launcher/ports.ts';
import { startPostgres } from '../bin/launcher/postgres.ts';
import { scaleOf } from './deletion/deletion-scale.ts';
import { deletePlainly } from './deletion/floor.ts';
import { watchLocks } from './deletion/longest-locks.ts';
import { measureReads } from './deletion/reads.ts';
import { launch } from './support/processes.ts';
import { judge, summaryOf, toTable } from './support/report.ts';
import { percentile, sum } from './support/stats.ts';

/**
 * The erasure of one tenant among others of its size, to the same deletions in the same order by plain SQL: two equal
 * tenants are erased table by table, one by each, the first alternating. `DELETION_ROWS=100000 DELETION_OTHERS=3 npm run
 * bench:deletion` is a short form.
 */
const { values } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, json: { type: 'string' } },
});
const scale = scaleOf(process.env, values.quick);
const startedAt = performance.now();
const say = (line: string) =>
  void process.stderr.write(`${Math.round((performance.now() - startedAt) / 1_000)} s  ${line}\n`);

/** One of the two ways to erase a tenant, with what was measured meanwhile. */
interface Side {
  /** Names of its sessions. */
  applications: readonly string[];
  erase: (step: ErasureStep) => Promise<unknown>;
  ms: number;
  maxLockMs: number;
  /** The step that held it. */
  maxLockOf: string;
  /** Reads of other tenants, in milliseconds. */
  beside: number[];
}
const sideOf = (applications: readonly string[], erase: Side['erase']): Side => ({
  applications,
  erase,
  ms: 0,
  maxLockMs: 0,
  maxLockOf: '',
  beside: [],
});

const folder = mkdtempSync(join(tmpdir(), 'platform-deletion-'));
const postgres = await startPostgres({
  dataDir: join(folder, 'postgres'),
  log: () => undefined,
  settings: { max_wal_size: '8GB', shared_buffers: '512MB' },
});
const undo: (() => Promise<unknown> | void)[] = [
  () => rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }),
  () => postgres.stop(),
];
const verdicts = [];
let rowsErased = 0;
let locks = '';
try {
  const world = await openErasureWorld(await prepareTemplate(postgres.adminUrl));
  undo.push(() => world.stop());
  const { admin, database } = world;
  const tables = Object.keys(await countTenantRows(admin, '00000000-0000-0000-0000-000000000000')).length;
  const worlds: World[] = [];
  while (worlds.length < scale.others + 2) {
    const made = await createWorld(database.unitOfWork);
    await fillTenant(admin, made.tenantId, Math.ceil(scale.rows / tables));
    worlds.push(made);
    say(`${worlds.length} of ${scale.others + 2} tenants filled`);
  }
  const [ours, plain, ...others] = worlds as [World, World, ...World[]];
  await admin.query('vacuum analyze');
  rowsErased = sum(Object.values(await countTenantRows(admin, ours.tenantId)));

  const port = await findFreePort();
  const gateway = await launch({
    name: 'gateway',
    folder,
    entry: 'api/main.ts',
    port,
    env: {
      ...raisedLimits,
      DATABASE_URL: database.url,
      // Reads need no workflow.
      TEMPORAL_ADDRESS: '127.0.0.1:1',
      MASTER_KEY: masterKey,
      EXIT_WITH_PARENT: '1',
      PORT: String(port),
      DRAIN_SECONDS: '0',
    },
  });
  undo.push(() => gateway.stop());
  const gatewayUrl = `http://127.0.0.1:${port}`;
  const readFor = (ms: number) => {
    const until = performance.now() + ms;
    return measureReads(gatewayUrl, others, () => performance.now() > until);
  };
  await readFor(scale.quietMs / 4);
  const quiet = await readFor(scale.quietMs);
  say('reads measured without an erasure');

  const plainClient = await connect(database.purgeUrl);
  undo.push(() => plainClient.end());
  await plainClient.query(`select set_config('app.tenant_id', $1, false)`, [plain.tenantId]);
  const watcher = await connect(database.adminUrl);
  undo.push(() => watcher.end());
  const byErasure = sideOf(['platform', 'platform-hot'], (step) => world.eraseStep(step, ours.tenantId));
  const byPlainSql = sideOf([''], (step) => deletePlainly(plainClient, plain.tenantId, step));
  const eraseStep = async (side: Side, step: ErasureStep) => {
    let isOver = false;
    const reads = measureReads(gatewayUrl, others, () => isOver);
    const watch = watchLocks(watcher, side.applications);
    const begun = performance.now();
    await side.erase(step);
    side.ms += performance.now() - begun;
    isOver = true;
    const longest = await watch.end();
    if (longest > side.maxLockMs) Object.assign(side, { maxLockMs: longest, maxLockOf: step.name });
    side.beside.push(...(await reads));
  };
  for (const [n, step] of (await world.plan()).entries()) {
    const turns = n % 2 === 0 ? [byErasure, byPlainSql] : [byPlainSql, byErasure];
    for (const side of turns) await eraseStep(side, step);
    if (n % 20 === 0) say(step.name);
    await sleep(0);
  }
  for (const { tenantId } of [ours, plain]) {
    const { clean } = await world.verify(tenantId);
    if (!clean) throw new Error('Something of a tenant is left.');
  }
  const { ms: oursMs, maxLockMs: lockMs, beside } = byErasure;
  const { ms: plainMs } = byPlainSql;
  locks = `longest lock: ${byErasure.maxLockOf}; of the plain SQL: ${byPlainSql.maxLockMs.toFixed(0)} ms, ${byPlainSql.maxLockOf}`;
  const p99 = (times: readonly number[]) => percentile(times, 0.99);
  const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
  verdicts.push(
    judge({
      name: `erasure of ${rowsErased} rows, to plain SQL`,
      ratios: [oursMs / plainMs],
      goal: 1.5,
      better: 'lower',
      ours: seconds(oursMs),
      peer: seconds(plainMs),
    }),
    judge({
      name: 'longest lock of a batch, of 100 ms',
      ratios: [lockMs / 100],
      goal: 1,
      better: 'lower',
      ours: `${lockMs.toFixed(0)} ms`,
      peer: '100 ms',
    }),
    judge({
      name: "other tenants' reads beside it (p99)",
      ratios: [p99(beside) / p99(quiet)],
      goal: 1.3,
      better: 'lower',
      ours: `${p99(beside).toFixed(1)} ms`,
      peer: `${p99(quiet).toFixed(1)} ms`,
    }),
  );
} finally {
  for (const step of undo.toReversed()) await step();
}
console.log(toTable(verdicts));
console.log(`\n${locks}`);
console.log(`\n${summaryOf(verdicts, { startedAt, quick: values.quick })}`);
if (values.json !== undefined) writeFileSync(values.json, JSON.stringify(verdicts, null, 2));
process.exitCode = verdicts.some(({ met }) => !met) && !values.quick ? 1 : 0;
