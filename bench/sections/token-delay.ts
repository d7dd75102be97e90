import { setTimeout as sleep } from 'node:timers/promises';
import { askDirectly, respond, type Streamed, type StreamTarget } from '../support/caller.ts';
import { models, pacesMs, tokensAt, type Lab } from '../support/lab.ts';
import type { Peer } from '../support/processes.ts';
import { format, type Line } from '../support/report.ts';
import type { Scale } from '../support/scale.ts';
import { agesOf } from '../support/stamps.ts';
import { median, percentile } from '../support/stats.ts';

/** The floor queues when its typical token is later than this, and later than alone by that much. */
const queueing = { ms: 10, times: 3 };

interface Round {
  direct: number[];
  pipe: number[];
  floor: number[];
  ours: number[];
}

/**
 * The delay of each token over a direct read from the model, compared with the floor of every durable stream:
 * one commit with NOTIFY in one process, one indexed read in another. The floor has no model and no client.
 */
export async function measureTokenDelay(
  lab: Lab,
  scale: Scale,
  say: (line: string) => void,
): Promise<Line[]> {
  const pipe = await lab.addPeer<{ url: string }>({
    name: 'byte-pipe',
    entry: 'bench/peers/byte-pipe.ts',
    env: { MODEL_URL: lab.modelUrl },
  });
  const env = { DATABASE_URL: lab.postgres.adminUrl };
  const writer = await lab.addPeer({ name: 'floor-writer', entry: 'bench/peers/floor-writer.ts', env });
  const reader = await lab.addPeer({ name: 'floor-reader', entry: 'bench/peers/floor-reader.ts', env });
  const floor = (streams: number, paceMs: number) =>
    runFloor(
      { writer, reader },
      {
        count: streams,
        tokens: tokensAt(paceMs, scale.tokens),
        paceMs,
      },
    );
  const lines: Line[] = [];
  const alone = percentile(await floor(1, pacesMs[0]), 0.5);
  for (const streams of scale.streams) {
    const pace = await findPace(streams, floor, alone);
    const { paceMs } = pace;
    const model = models.paced(tokensAt(paceMs, scale.tokens), paceMs);
    say(`${streams} streams: ${describe(pace)}`);
    const rounds: Round[] = [];
    for (let round = 0; round < scale.rounds; round += 1) {
      rounds.push({
        direct: await collect(streams, (onPiece) => askDirectly(lab.modelUrl, model, onPiece)),
        floor: await floor(streams, paceMs),
        ours: await collect(streams, (onPiece) => respond(lab, { model, onPiece })),
        pipe: await collect(streams, (onPiece) => askDirectly(pipe.said.url, model, onPiece)),
      });
    }
    const followed = rounds.filter(({ floor: ages }) => !queues(ages, alone));
    say(`${streams} streams: the floor did not queue in ${followed.length} of ${rounds.length} rounds`);
    lines.push(
      ...(followed.length > 0
        ? compare(followed, { streams, pace }, say)
        : compare(rounds, { streams, pace: { ...pace, followed: false } }, say)),
    );
  }
  return lines;
}

interface Pace {
  paceMs: number;
  /** False: the floor could follow at no pace, and this is the slowest. */
  followed: boolean;
}

/**
 * The fastest pace at which the floor's tokens do not queue: there the comparison is of delays. NOTIFY takes a lock of the
 * whole database until its commit is on the disk, so the floor cannot share those waits as ours does.
 */
async function findPace(
  streams: number,
  floor: (streams: number, paceMs: number) => Promise<number[]>,
  alone: number,
): Promise<Pace> {
  for (const paceMs of pacesMs) {
    if (streams === 1) return { paceMs, followed: true };
    if (!queues(await floor(streams, paceMs), alone)) return { paceMs, followed: true };
  }
  return { paceMs: Math.max(...pacesMs), followed: false };
}

function queues(ages: readonly number[], alone: number): boolean {
  return percentile(ages, 0.5) > Math.max(queueing.ms, alone * queueing.times);
}

function describe({ paceMs, followed }: Pace): string {
  return `a token every ${paceMs} ms${followed ? '' : ', at which the floor queues'}`;
}

function compare(
  rounds: Round[],
  { streams, pace }: { streams: number; pace: Pace },
  say: (line: string) => void,
): Line[] {
  for (const kind of ['direct', 'pipe', 'floor', 'ours'] as const) {
    const all = rounds.flatMap((round) => round[kind]);
    say(
      `${streams} streams, ${kind}: p50 ${format(percentile(all, 0.5))} ms, p99 ${format(percentile(all, 0.99))} ms, ${all.length} tokens`,
    );
  }
  return ([0.5, 0.99] as const).map((share) => {
    const added = (round: Round, kind: 'ours' | 'pipe') =>
      percentile(round[kind], share) - percentile(round.direct, share);
    const of = (value: (round: Round) => number) => format(median(rounds.map(value)));
    return {
      name: `delay added per token, ${streams} streams, p${share * 100} (${describe(pace)}; byte pipe: ${of((round) => added(round, 'pipe'))} ms)`,
      ratios: rounds.map((round) => added(round, 'ours') / percentile(round.floor, share)),
      goal: 2,
      better: 'lower' as const,
      ours: `${of((round) => added(round, 'ours'))} ms`,
      peer: `${of((round) => percentile(round.floor, share))} ms`,
    };
  });
}

/** The ages on arrival of all tokens of so many streams, started a few milliseconds apart. */
async function collect(
  streams: number,
  open: (onPiece: NonNullable<StreamTarget['onPiece']>) => Promise<Streamed>,
): Promise<number[]> {
  const ages: number[] = [];
  await Promise.all(
    Array.from({ length: streams }, async (_, i) => {
      await sleep(i * 7);
      await open((piece, at) => {
        // The end of our stream repeats the text, and with it the stamps.
        for (const frame of piece.split('\n\n'))
          if (!/"type":"response\.(?!output_text\.delta)/.test(frame)) ages.push(...agesOf(frame, at));
      });
    }),
  );
  return ages;
}

async function runFloor(
  { writer, reader }: { writer: Peer<unknown>; reader: Peer<unknown> },
  asked: { count: number; tokens: number; paceMs: number },
): Promise<number[]> {
  await reader.ask({});
  await writer.ask(asked);
  await sleep(200);
  return (await reader.ask<{ ages: number[] }>({})).ages;
}
