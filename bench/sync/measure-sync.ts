import { setTimeout as sleep } from 'node:timers/promises';
import { probe, watchMemory } from '../support/beside.ts';
import { format, type Line } from '../support/report.ts';
import { median, percentile } from '../support/stats.ts';
import { connect, type SyncSite } from './connected.ts';
import { copyAgain } from './copied.ts';
import type { FilledSource } from './filled-sources.ts';
import { expectFound } from './found.ts';
import type { ListedSource } from './listing-server.ts';
import type { SyncScale } from './sync-scale.ts';

const memoryGoalMb = 200;

export interface SyncMeasurement {
  site: Omit<SyncSite, 'world'>;
  sources: readonly FilledSource[];
  listed: ListedSource;
  scale: SyncScale;
  say: (line: string) => void;
}

/** Each source: its first run, `COPY` of what that has stored, a run without changes, one with, and the part alone. */
export async function measureSync(measured: SyncMeasurement): Promise<Line[]> {
  const { site, sources } = measured;
  const memory = watchMemory(site.lab.worker.pid);
  const lines: Line[] = [];
  for (const [n, source] of sources.entries()) {
    lines.push(...(await measureSource(measured, source, n)));
  }
  lines.push(await measureBeside(measured));
  const idleMb = memory.idleMb;
  lines.push(
    memoryLine(`the worker's memory over the runs, of ${memoryGoalMb} MB`, idleMb, memory.end().peakMb),
  );
  lines.push(await measureListing(measured, idleMb));
  return lines;
}

async function measureSource(
  { site, scale, say }: SyncMeasurement,
  source: FilledSource,
  n: number,
): Promise<Line[]> {
  const { title, server, part } = source;
  const { others } = site.lab;
  const [world, copying] = [others[2 * n]!, others[2 * n + 1]!];
  const connected = await connect({ ...site, world }, server);
  const first = await connected.sync();
  expectCount(first.added, scale.documents);
  await expectFound({ ...site, world }, connected);
  const copied = await copyAgain(site.admin, connected, { from: world, to: copying });
  say(
    `${title}: first run ${format(first.seconds)} s, COPY ${format(copied.seconds)} s, of the texts alone ${format(copied.bareSeconds)} s`,
  );
  const before = server.requests();
  const unchanged = await connected.sync();
  const requests = server.requests() - before;
  expectCount(unchanged.added + unchanged.updated, 0);
  await source.change();
  const changed = await connected.sync();
  expectCount(changed.updated, scale.documents / 100);
  const alone = await (await connect({ ...site, world: copying }, server, part)).sync();
  expectCount(alone.added, scale.documents / 100);
  say(
    `${title}: unchanged ${format(unchanged.seconds)} s and ${requests} requests, 1 % changed ${format(changed.seconds)} s, these alone ${format(alone.seconds)} s`,
  );
  const rate = (seconds: number) => `${format(scale.documents / seconds)} documents/s`;
  const line = (rest: Pick<Line, 'name' | 'goal' | 'better' | 'ours' | 'peer'>, ratio: number): Line => ({
    ...rest,
    name: `${title}, ${rest.name}`,
    ratios: [ratio],
  });
  return [
    line(
      {
        name: 'first run',
        goal: 0.5,
        better: 'higher',
        ours: rate(first.seconds),
        peer: rate(copied.seconds),
      },
      copied.seconds / first.seconds,
    ),
    line(
      {
        name: 'nothing changed',
        goal: 2,
        better: 'higher',
        ours: rate(unchanged.seconds),
        peer: rate(copied.seconds),
      },
      copied.seconds / unchanged.seconds,
    ),
    ...(requests === 0
      ? []
      : [
          line(
            {
              name: 'nothing changed, requests per 1,000',
              goal: 1,
              better: 'lower',
              ours: `${requests}`,
              peer: '',
            },
            requests / (scale.documents / 1_000),
          ),
        ]),
    line(
      {
        name: '1 % changed, to these alone',
        goal: 3,
        better: 'lower',
        ours: `${format(changed.seconds)} s`,
        peer: `${format(alone.seconds)} s`,
      },
      changed.seconds / alone.seconds,
    ),
  ];
}

/** Responses of another tenant beside the first run of one more connector, whose source has no process of its own. */
async function measureBeside({ site, sources, say }: SyncMeasurement): Promise<Line> {
  const { server } = sources.at(-1)!;
  const connected = await connect({ ...site, world: site.lab.others.at(-1)! }, server);
  await probe(site.lab, sleep(500));
  let seconds = 0;
  const run = async () => void ({ seconds } = await connected.sync());
  const beside = await probe(site.lab, run());
  const alone = await probe(site.lab, sleep(seconds * 1_000));
  const p95 = (times: readonly number[]) => percentile(times, 0.95);
  say(`first token p95 ${format(p95(beside))} ms beside a run, ${format(p95(alone))} ms without`);
  return {
    name: "another tenant's first token beside a first run (p95)",
    ratios: [p95(beside) / p95(alone)],
    goal: 1.3,
    better: 'lower',
    ours: `${format(p95(beside))} ms, p50 ${format(median(beside))}`,
    peer: `${format(p95(alone))} ms, p50 ${format(median(alone))}`,
  };
}

/** The worker's memory over a listing that is longer than that of the sources. */
async function measureListing({ site, listed, scale, say }: SyncMeasurement, idleMb: number): Promise<Line> {
  const memory = watchMemory(site.lab.worker.pid);
  const connected = await connect({ ...site, world: site.lab.others.at(-1)! }, listed);
  const { seconds, skipped } = await connected.sync();
  expectCount(skipped, scale.listed);
  const { peakMb } = memory.end();
  say(`${scale.listed} objects listed in ${format(seconds)} s`);
  return memoryLine(`the worker's memory over ${scale.listed} listed, of ${memoryGoalMb} MB`, idleMb, peakMb);
}

function memoryLine(name: string, idleMb: number, peakMb: number): Line {
  return {
    name,
    ratios: [(peakMb - idleMb) / memoryGoalMb],
    goal: 1,
    better: 'lower',
    ours: `${format(peakMb - idleMb)} MB`,
    peer: `${format(idleMb)} MB idle`,
  };
}

function expectCount(found: number, expected: number): void {
  if (found !== expected) throw new Error(`${found} documents instead of ${expected}.`);
}
