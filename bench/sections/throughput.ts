import { workflowIdOf } from '#domain/foundation/durable/workflow-types.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { activitiesOf, runBare } from '../support/bare.ts';
import { askDirectly, respond } from '../support/caller.ts';
import { cpuOf, type CpuByPart } from '../support/cpu.ts';
import { models, type Lab } from '../support/lab.ts';
import { format, type Line } from '../support/report.ts';
import type { Scale } from '../support/scale.ts';
import { median, percentile, sum } from '../support/stats.ts';

interface Side {
  /** One operation; the id of its workflow. */
  run(): Promise<string>;
  /** Processor time by part of the system. */
  pids: Record<string, number>;
}

interface Measured {
  perSecond: number;
  cpuMs: number;
  cpuByPart: CpuByPart;
  latenciesMs: number[];
  lastWorkflow: string;
  /** All operations that were run, including uncounted ones. */
  operations: number;
  modelCalls: number;
}

interface Pair {
  ours: Measured;
  bare: Measured;
  /** The change in the duration of a fixed piece of work from before the round to after it. */
  drift: number;
}

/** A line whose first two rounds take longer makes no third. */
const longMs = 60_000;

/** A round in which the machine itself changed more is left out, unless there is no other. */
const maxDrift = 0.15;

/** Responses a second and processor time per response, beside bare workflows with as many activities. */
export async function measureThroughput(
  lab: Lab,
  scale: Scale,
  say: (line: string) => void,
): Promise<Line[]> {
  const bareWorker = await lab.bareWorker();
  const common = { postgres: lab.postgres.pid, temporal: lab.temporal.pid, caller: process.pid };
  const lines: Line[] = [];
  for (const rounds of scale.toolRounds) {
    const ours: Side = {
      run: async () => {
        const { responseId } = await respond(lab, { model: models.tools(rounds), tools: rounds > 0 });
        return workflowIdOf('generateResponse', { tenantId: lab.world.tenantId, responseId });
      },
      pids: { gateway: lab.gateway.pid, worker: lab.worker.pid, ...common },
    };
    const bare: Side = {
      run: () => runBare(lab.temporal.client, rounds),
      pids: { worker: bareWorker.pid, ...common },
    };
    await warmUp([ours, bare], scale.warmUp);
    for (const callers of scale.callers) {
      const all: Pair[] = [];
      const startedAt = performance.now();
      for (let round = 0; round < scale.rounds; round += 1) {
        if (round >= 2 && performance.now() - startedAt > longMs) break;
        const before = await askOften(lab.modelUrl);
        // The order alternates, so that a drift of the machine favours neither side.
        const run = (side: Side) => countCalls(lab.modelUrl, () => drive(side, callers, scale.windowMs));
        const first = await run(round % 2 === 0 ? ours : bare);
        const second = await run(round % 2 === 0 ? bare : ours);
        const drift = Math.abs((await askOften(lab.modelUrl)) / before - 1);
        all.push({
          ...(round % 2 === 0 ? { ours: first, bare: second } : { ours: second, bare: first }),
          drift,
        });
      }
      const steady = all.filter(({ drift }) => drift <= maxDrift);
      const pairs = steady.length > 0 ? steady : all;
      const drifts = all.map(({ drift }) => `${Math.round(drift * 100)} %`).join(', ');
      say(
        `${rounds} tools, ${callers} callers: the machine moved by ${drifts}; ${steady.length} rounds count`,
      );
      await assertSameWork(lab, all, rounds);
      const cell = cellLines(pairs, `${rounds} tools, ${callers} callers`);
      cell.forEach((line) => say(`${line.name}: ${line.ours} to ${line.peer}`));
      (['ours', 'bare'] as const).forEach((side) =>
        say(`  ${side}: ${describe(pairs.map((pair) => pair[side]))}`),
      );
      lines.push(...cell);
    }
  }
  return lines;
}

function cellLines(pairs: Pair[], name: string): Line[] {
  const of = (side: 'ours' | 'bare', what: 'perSecond' | 'cpuMs') =>
    format(median(pairs.map((pair) => pair[side][what])));
  return [
    {
      name: `${name}: responses/s`,
      ratios: pairs.map(({ ours, bare }) => ours.perSecond / bare.perSecond),
      goal: 0.85,
      better: 'higher',
      ours: `${of('ours', 'perSecond')}/s`,
      peer: `${of('bare', 'perSecond')}/s`,
    },
    {
      name: `${name}: CPU per response`,
      ratios: pairs.map(({ ours, bare }) => ours.cpuMs / bare.cpuMs),
      goal: 1.25,
      better: 'lower',
      ours: `${of('ours', 'cpuMs')} ms`,
      peer: `${of('bare', 'cpuMs')} ms`,
    },
  ];
}

/** Durations and processor time by part, for diagnosis. */
function describe(measured: Measured[]): string {
  const latencies = measured.flatMap(({ latenciesMs }) => latenciesMs);
  const parts = Object.keys(measured[0]!.cpuByPart).map(
    (part) => `${part} ${format(median(measured.map(({ cpuByPart }) => cpuByPart[part]!)))}`,
  );
  return `p50 ${format(percentile(latencies, 0.5))} ms, p99 ${format(percentile(latencies, 0.99))} ms; CPU ms ${parts.join(', ')}`;
}

/** Milliseconds for a fixed number of calls of the model itself. */
async function askOften(url: string): Promise<number> {
  const startedAt = performance.now();
  for (let i = 0; i < 150; i += 1) await askDirectly(url, models.tools(0));
  return performance.now() - startedAt;
}

/** Code that has not run often is slow, on both sides. */
async function warmUp(sides: Side[], operations: number): Promise<void> {
  for (const side of sides)
    for (let done = 0; done < operations; done += 8)
      await Promise.all(Array.from({ length: 8 }, () => side.run()));
}

/**
 * Keeps so many callers busy. Counting begins when as many operations as there are callers have ended and
 * holds whole generations of callers, because callers who wait for one server move in waves. Every counted or
 * later operation is awaited, so that none runs into the next round.
 */
async function drive(side: Side, callers: number, windowMs: number): Promise<Omit<Measured, 'modelCalls'>> {
  const before = Math.max(callers, 4);
  const startedAt = performance.now();
  let started = 0;
  let ended = 0;
  let last = Infinity;
  let lastWorkflow = '';
  const marks: { at: number; cpu: CpuByPart }[] = [];
  const latenciesMs: number[] = [];
  const mark = () => void marks.push({ at: performance.now(), cpu: cpuOf(side.pids) });
  /** Starts only as many as fill the generation under way. */
  const finishGeneration = () => {
    last = before + callers * Math.max(1, Math.ceil((started - before) / callers));
  };
  const call = async () => {
    while (started < last) {
      started += 1;
      const begunAt = performance.now();
      lastWorkflow = await side.run();
      ended += 1;
      const now = performance.now();
      const [begin] = marks;
      if (begin !== undefined) latenciesMs.push(now - begunAt);
      if (ended === before) {
        mark();
        if (now - startedAt >= windowMs) finishGeneration();
      } else if (begin !== undefined && last === Infinity && now - begin.at >= windowMs) finishGeneration();
      if (ended === last) mark();
    }
  };
  await Promise.all(Array.from({ length: callers }, call));
  const [begin, end] = marks;
  if (begin === undefined || end === undefined) throw new Error('Nothing was measured.');
  const operations = ended - before;
  const cpuByPart = Object.fromEntries(
    Object.entries(end.cpu).map(([part, ms]) => [part, (ms - begin.cpu[part]!) / operations]),
  );
  // The remaining work of an operation (its workflow's last task, its rows) must not count for the next one.
  await sleep(100);
  return {
    perSecond: (operations * 1_000) / (end.at - begin.at),
    cpuMs: sum(Object.values(cpuByPart)),
    cpuByPart,
    latenciesMs,
    lastWorkflow,
    operations: ended,
  };
}

async function countCalls(
  modelUrl: string,
  work: () => Promise<Omit<Measured, 'modelCalls'>>,
): Promise<Measured> {
  const before = await callsOf(modelUrl);
  const measured = await work();
  return { ...measured, modelCalls: (await callsOf(modelUrl)) - before };
}

/** How often the model has been called. */
async function callsOf(modelUrl: string): Promise<number> {
  return ((await (await fetch(modelUrl)).json()) as { requests: number }).requests;
}

/**
 * @throws unless both histories hold as many activities as the loop has steps, and the model was called once
 * for each turn of ours and never for the bare ones
 */
async function assertSameWork({ temporal: { client } }: Lab, pairs: Pair[], rounds: number): Promise<void> {
  for (const { ours, bare } of pairs) {
    const turns = ours.operations * (1 + rounds);
    if (ours.modelCalls !== turns || bare.modelCalls !== 0)
      throw new Error(
        `The model was asked ${ours.modelCalls} times for ${turns} turns, and ${bare.modelCalls} times for bare workflows.`,
      );
  }
  const pair = pairs.at(-1)!;
  for (const { lastWorkflow } of [pair.ours, pair.bare]) {
    const found = await activitiesOf(client, lastWorkflow);
    const expected = 1 + 2 * rounds;
    if (found !== expected)
      throw new Error(`${lastWorkflow} ran ${found} activities, and ${expected} were to be compared.`);
  }
}
