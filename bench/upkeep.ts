import { createAuthorizationServers } from '#adapters/authorization/authorization-servers.ts';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Client } from 'pg';
import type { SweepDependencies } from '#domain/operations/sweep-kinds/sweep.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { Purge } from '#test/support/purge.ts';
import { prepareTemplate } from '#test/support/test-servers.ts';
import { createWorld, scriptedModel, secrets } from '#test/support/world.ts';
import { startPostgres } from '../bin/launcher/postgres.ts';
import { judge, toTable } from './support/report.ts';
import { measureAppends } from './upkeep/appends.ts';
import { addOldKeys, addUnfinished } from './upkeep/load.ts';
import { runRounds, toLine, type Rounds } from './upkeep/rounds.ts';
import { full, quick } from './upkeep/upkeep-scale.ts';

/**
 * Upkeep over the backlog of a large platform: each round keeps its budget and the next one continues where
 * it stopped, and partitions change without blocking appends. `npm run bench:upkeep -- --rows 100000
 * --responses 1000 --budget 2` is a short form.
 */
const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    rows: { type: 'string' },
    responses: { type: 'string' },
    budget: { type: 'string' },
    /** Also writes the results there, for programs. */
    json: { type: 'string' },
  },
});
const base = values.quick ? quick : full;
const scale = {
  ...base,
  rows: Number(values.rows ?? base.rows),
  responses: Number(values.responses ?? base.responses),
  budgetSeconds: Number(values.budget ?? base.budgetSeconds),
};
const startedAt = performance.now();
const say = (line: string) =>
  void process.stderr.write(`${Math.round((performance.now() - startedAt) / 1_000)} s  ${line}\n`);

const folder = mkdtempSync(join(tmpdir(), 'platform-upkeep-'));
const postgres = await startPostgres({
  dataDir: join(folder, 'postgres'),
  log: () => undefined,
  settings: { max_wal_size: '8GB' },
});
const found: Rounds[] = [];
const verdicts = [];
let described = 0;
try {
  const database = await createTestDatabase(await prepareTemplate(postgres.adminUrl));
  const purge = new Purge(database);
  const admin = new Client({ connectionString: database.adminUrl });
  // The server may be stopped while this is open, after a failure.
  admin.on('error', () => undefined);
  await admin.connect();
  const model = scriptedModel({ url: 'http://127.0.0.1:9/v1' }, 'never-asked');
  const tenants = await Promise.all(
    Array.from({ length: 4 }, () => createWorld(database.unitOfWork, [model])),
  );
  await addOldKeys(admin, tenants, scale.rows);
  say(`${scale.rows} expired rows loaded`);
  await addUnfinished(admin, tenants[0]!, scale.responses);
  say(`${scale.responses} unfinished responses loaded`);
  let listed = 0;
  const deps: SweepDependencies = {
    ...database,
    purge,
    secrets,
    authorizationServers: createAuthorizationServers({ fetch }),
    inspector: {
      // Every hundredth is too young for the list.
      openAmong: (ids) => Promise.resolve(new Set(ids.filter(() => (listed += 1) % 100 !== 0))),
      stateOf: () => {
        described += 1;
        return Promise.resolve('open');
      },
    },
    starter: { start: async () => {} },
    canceller: { cancel: () => Promise.resolve() },
    anchors: { append: () => Promise.resolve(false), lastOf: () => undefined },
    eventRetentionDays: 365,
  };
  for (const name of ['purgeStaleRows', 'reconcileResponses'] as const)
    found.push(await runRounds(name, deps, scale, say));
  const lab = { admin, adminUrl: database.adminUrl, database: database.database, purge, world: tenants[0]! };
  verdicts.push(
    ...found.map((rounds) => judge(toLine(rounds, scale))),
    judge(await measureAppends(lab, scale)),
  );
  await admin.end();
  await purge.close();
  await database.drop();
} finally {
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
}
console.log(toTable(verdicts));
console.log(`\n${scale.responses} unfinished responses listed, ${described} of them described`);
if (values.json !== undefined)
  writeFileSync(values.json, JSON.stringify({ found, described, verdicts }, null, 2));
const failed = found.some((rounds) => rounds.failed > 0) || verdicts.some(({ met }) => !met);
process.exitCode = failed && !values.quick ? 1 : 0;
