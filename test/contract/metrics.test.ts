import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTelemetry } from '#adapters/telemetry/metrics.ts';
import { readUpkeepState } from '#domain/operations/maintenance/upkeep-state.ts';
import { claimDueSweeps } from '#domain/operations/maintenance/sweep-clock.ts';
import { sweeps, type Pace } from '#domain/operations/maintenance/sweeps.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { connect } from '../support/tables.ts';
import { createWorld } from '../support/world.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database?.drop());

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

/** What the rules alert on. */
const expressions = [...read('deploy/prometheus/alerts.yaml').matchAll(/expr: '?(.*?)'?$/gm)].map(
  ([, expr]) => expr!,
);

/** Seconds without a success after which a sweep of each pace is late. */
const lateAfter: Record<Pace, number> = {
  sweep: 600,
  seal: 600,
  hour: 10_800,
  anchor: 10_800,
  day: 180_000,
};

/** The limits that the rules set for a sweep. */
function limitsOf(sweep: string): number[] {
  return expressions.flatMap((expr) => {
    const [, operator, names = '', seconds] =
      /^sweep_age_seconds\{sweep(=~?|!~)"([\w|]+)"\} > (\d+)$/.exec(expr) ?? [];
    const applies = names.split('|').includes(sweep) === (operator !== '!~');
    return seconds !== undefined && applies ? [Number(seconds)] : [];
  });
}

/** Prometheus text of a process that has counted one of each. */
async function scrapeAll(): Promise<string> {
  const telemetry = createTelemetry();
  telemetry.request({ route: '/', method: 'GET', status: 200, seconds: 0.1 });
  telemetry.streamOpened();
  telemetry.workflowStart({ type: 'generateResponse', outcome: 'started' });
  telemetry.workflowSignal({ type: 'runSweep', outcome: 'dropped' });
  telemetry.modelTurn({ outcome: 'committed', seconds: 1 });
  telemetry.toolCall({ tool: 'knowledge_search', outcome: 'succeeded' });
  telemetry.toolMisfit({ problem: 'missing' });
  telemetry.answerCutOff({ use: 'model', limit: 'bytes', bytes: 1 });
  telemetry.hungCall({ target: 'postgresql' });
  telemetry.observeConnections(() => ({ inUse: 1, max: 2 }));
  telemetry.observeQueueAge(() => Promise.resolve(0));
  telemetry.observeUpkeep(() => readUpkeepState(database.database));
  const text = await telemetry.scrape();
  await telemetry.close();
  return text;
}

it('names every metric in the documentation, and alerts on no other', async () => {
  await claimDueSweeps(database.database, { purgeThings: 60 });
  const text = await scrapeAll();
  const exposed = [...text.matchAll(/^# TYPE (\w+) /gm)].map(([, name]) => name!);
  const section = read('docs/operating.md').split('## Which metrics are there?')[1]!.split('\n## ')[0]!;
  const documented = [...section.matchAll(/^\| `(\w+)`/gm)].map(([, name]) => name!);
  expect(documented.toSorted()).toEqual(exposed.toSorted());
  const alerted = expressions.flatMap((expr) => expr.match(/\b[a-z]+(_[a-z]+)+\b/g) ?? []);
  expect(alerted.length).toBeGreaterThanOrEqual(expressions.length);
  expect(alerted.filter((name) => !exposed.includes(name))).toEqual([]);
  for (const expr of expressions) expect(section).toContain(`\`${expr}\``);
});

it('alerts on each sweep after the time that fits its pace, by one rule', () => {
  const entries = Object.entries(sweeps);
  expect(Object.fromEntries(entries.map(([name]) => [name, limitsOf(name)]))).toEqual(
    Object.fromEntries(entries.map(([name, { pace }]) => [name, [lateAfter[pace]]])),
  );
});

it('tells no age of a sweep that an upgrade has removed', async () => {
  await claimDueSweeps(database.database, { purgeThings: 60, removed: 60 });
  const { sweeps } = await readUpkeepState(database.database, ['purgeThings']);
  expect(sweeps.map(({ name }) => name)).toEqual(['purgeThings']);
});

it('tells how far sealing is behind, and how long ago each sweep succeeded', async () => {
  const { tenantId } = await createWorld(database.unitOfWork);
  const admin = await connect(database.adminUrl);
  await admin.query(
    `insert into events (tenant_id, category, event_type, resource_type, resource_id)
     select $1, 'space', 'space.updated', 'space', 'x' from generate_series(1, 7)`,
    [tenantId],
  );
  await claimDueSweeps(database.database, { purgeOthers: 60 });
  await admin.query(
    `update app.sweeps set succeeded_at = now() - interval '90 s' where name = 'purgeOthers'`,
  );
  await admin.end();
  const state = await readUpkeepState(database.database);
  expect(state.unsealedEvents).toBeGreaterThanOrEqual(7);
  expect(state.oldestUnsealedSeconds).toBeGreaterThan(0);
  expect(state.notificationQueueUsage).toBeLessThan(1);
  const { seconds } = state.sweeps.find(({ name }) => name === 'purgeOthers')!;
  expect(Math.round(seconds / 10)).toBe(9);
});
