import { setTimeout as sleep } from 'node:timers/promises';
import type { ModelFiles } from '#adapters/embeddings/builtin-package.ts';
import { probe, watchMemory } from '../support/beside.ts';
import type { Peer } from '../support/processes.ts';
import { format, type Line } from '../support/report.ts';
import { median, percentile, sum } from '../support/stats.ts';
import { besideBusyProcess } from './busy-process.ts';
import type { IngestScale } from './ingest-scale.ts';
import { ingest, passagesOf, type Ingestion } from './uploads.ts';

const memoryGoalMb = 350;
/** Time after a response until an ingest no longer gives way to it. */
const quietMs = 10_500;

interface Round {
  passages: number;
  ingestSeconds: number;
  bareSeconds: number;
  /** Milliseconds to the first token of another tenant's responses, beside an ingest and without one. */
  beside: number[];
  alone: number[];
  /** Beside a process that only calculates: what any embedding costs them that does not pause. */
  floor: number[];
}

/**
 * Each round: an ingest alone, the bare inference of the same passages, another tenant's responses without an ingest,
 * beside one, and beside a process that only calculates. The order of the first two kinds of responses alternates.
 */
export async function measureIngest(
  ingestion: Ingestion,
  scale: IngestScale,
  { files, bare, say }: { files: ModelFiles; bare: Peer<unknown>; say: (line: string) => void },
): Promise<Line[]> {
  const { lab } = ingestion;
  const memory = watchMemory(lab.worker.pid);
  await ingest(ingestion, 1);
  await bare.ask({ files, texts: ['Warm up.'] });
  const share = Math.max(1, Math.round(scale.documents / scale.rounds / 2));
  const rounds: Round[] = [];
  for (let round = 0; round < scale.rounds; round += 1) {
    if (round > 0) await sleep(quietMs);
    const { ids, seconds } = await ingest(ingestion, share);
    const texts = await passagesOf(ingestion, ids);
    const { seconds: bareSeconds } = await bare.ask<{ seconds: number }>({ files, texts });
    const without = () => probe(lab, sleep(seconds * 500));
    const early = round % 2 === 0 ? await without() : null;
    const beside = await probe(lab, ingest(ingestion, share));
    const alone = early ?? (await without());
    const floor = await besideBusyProcess(without);
    rounds.push({ passages: texts.length, ingestSeconds: seconds, bareSeconds, beside, alone, floor });
    say(
      `${share} documents, ${texts.length} passages: ingest ${format(seconds)} s, bare inference ${format(bareSeconds)} s; ` +
        `first token p95 ${format(percentile(beside, 0.95))} ms beside an ingest, ${format(percentile(alone, 0.95))} ms without, ` +
        `${format(percentile(floor, 0.95))} ms beside a process that calculates`,
    );
  }
  const { idleMb, peakMb } = memory.end();
  return [...linesOf(rounds), memoryLine(idleMb, peakMb)];
}

function linesOf(rounds: readonly Round[]): Line[] {
  const passages = sum(rounds.map((round) => round.passages));
  const rate = (seconds: number[]) => `${format(passages / sum(seconds))} passages/s`;
  const p95 = (times: readonly number[]) => percentile(times, 0.95);
  const beside = rounds.flatMap((round) => round.beside);
  const alone = rounds.flatMap((round) => round.alone);
  const floor = rounds.flatMap((round) => round.floor);
  return [
    {
      name: 'ingest of documents of 10 kB, to bare inference in one thread',
      ratios: rounds.map(({ ingestSeconds, bareSeconds }) => ingestSeconds / bareSeconds),
      goal: 1.25,
      better: 'lower',
      ours: rate(rounds.map(({ ingestSeconds }) => ingestSeconds)),
      peer: rate(rounds.map(({ bareSeconds }) => bareSeconds)),
    },
    {
      name: "another tenant's first token beside an ingest (p95)",
      ratios: rounds.map((round) => p95(round.beside) / p95(round.alone)),
      whole: p95(beside) / p95(alone),
      goal: 1.3,
      better: 'lower',
      ours: `${format(p95(beside))} ms, p50 ${format(median(beside))}`,
      peer: `${format(p95(alone))} ms, p50 ${format(median(alone))}`,
    },
    {
      name: 'the same beside a process that only calculates (p95)',
      ratios: rounds.map((round) => p95(round.floor) / p95(round.alone)),
      whole: p95(floor) / p95(alone),
      goal: 1.3,
      better: 'lower',
      ours: `${format(p95(floor))} ms, p50 ${format(median(floor))}`,
      peer: `${format(p95(alone))} ms, p50 ${format(median(alone))}`,
    },
  ];
}

function memoryLine(idleMb: number, peakMb: number): Line {
  return {
    name: `the worker's memory above idle, of ${memoryGoalMb} MB`,
    ratios: [(peakMb - idleMb) / memoryGoalMb],
    goal: 1,
    better: 'lower',
    ours: `${format(peakMb - idleMb)} MB`,
    peer: `${format(idleMb)} MB idle`,
  };
}
