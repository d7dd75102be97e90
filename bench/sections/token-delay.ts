import { setTimeout as sleep } from 'node:timers/promises';
import { askDirectly, respond, type Streamed, type StreamTarget } from '../support/caller.ts';
import { models, type Lab } from '../support/lab.ts';
import type { Peer } from '../support/processes.ts';
import { format, type Line } from '../support/report.ts';
import type { Scale } from '../support/scale.ts';
import { agesOf } from '../support/stamps.ts';
import { median, percentile } from '../support/stats.ts';

interface Round {
  direct: number[];
  pipe: number[];
  floor: number[];
  ours: number[];
}

/**
 * How much later each token comes than straight from the model, beside the floor of every durable stream: one commit
 * with NOTIFY in one process, one indexed read in another. The floor has no model and no client to reach.
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
  const model = models.paced(scale.tokens);
  const lines: Line[] = [];
  for (const streams of scale.streams) {
    const rounds: Round[] = [];
    for (let round = 0; round < scale.rounds; round += 1) {
      rounds.push({
        direct: await collect(streams, (onPiece) => askDirectly(lab.modelUrl, model, onPiece)),
        floor: await runFloor({ writer, reader }, streams, scale.tokens),
        ours: await collect(streams, (onPiece) => respond(lab, { model, onPiece })),
        pipe: await collect(streams, (onPiece) => askDirectly(pipe.said.url, model, onPiece)),
      });
    }
    lines.push(...compare(rounds, streams, say));
  }
  return lines;
}

function compare(rounds: Round[], streams: number, say: (line: string) => void): Line[] {
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
      name: `delay added per token, ${streams} streams, p${share * 100} (byte pipe: ${of((round) => added(round, 'pipe'))} ms)`,
      ratios: rounds.map((round) => added(round, 'ours') / percentile(round.floor, share)),
      goal: 2,
      better: 'lower' as const,
      ours: `${of((round) => added(round, 'ours'))} ms`,
      peer: `${of((round) => percentile(round.floor, share))} ms`,
    };
  });
}

/** The ages of all tokens of so many streams at their arrival here, begun a few milliseconds apart. */
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
  count: number,
  tokens: number,
): Promise<number[]> {
  await reader.ask({});
  await writer.ask({ count, tokens });
  await sleep(200);
  return (await reader.ask<{ ages: number[] }>({})).ages;
}
