import { runBare } from '../support/bare.ts';
import { askDirectly, respond } from '../support/caller.ts';
import { models, type Lab } from '../support/lab.ts';
import { format, type Line } from '../support/report.ts';
import type { Scale } from '../support/scale.ts';
import { median, percentile } from '../support/stats.ts';

/**
 * The platform's overhead until the first token, compared with a bare workflow of one activity from its start
 * to its result. Both are started from this process, not the worker's, one after the other.
 */
export async function measureFirstToken(
  lab: Lab,
  scale: Scale,
  say: (line: string) => void,
): Promise<Line[]> {
  await lab.bareWorker();
  const direct: number[] = [];
  const ours: number[] = [];
  const bare: number[] = [];
  for (let i = -scale.warmUp / 4; i < scale.firstTokenPairs; i += 1) {
    const asked = await askDirectly(lab.modelUrl, models.tools(0));
    const streamed = await respond(lab, { model: models.tools(0) });
    const startedAt = performance.now();
    await runBare(lab.temporal.client, 0);
    const bareMs = performance.now() - startedAt;
    if (i < 0) continue;
    direct.push(asked.firstTextUs / 1_000);
    ours.push(streamed.firstTextUs / 1_000);
    bare.push(bareMs);
  }
  const added = ours.map((each) => each - median(direct));
  const show = (name: string, values: number[]) =>
    say(`${name}: p50 ${format(median(values))} ms, p99 ${format(percentile(values, 0.99))} ms`);
  show('first token of the model itself', direct);
  show('first token added', added);
  show('bare workflow of one activity', bare);
  return [
    {
      name: 'first token added, to a bare one-activity workflow (p50)',
      ratios: inParts(added, bare),
      goal: 1.3,
      better: 'lower',
      ours: `${format(median(added))} ms`,
      peer: `${format(median(bare))} ms`,
    },
  ];
}

/** One ratio of medians for each fifth of the pairs. */
function inParts(ours: number[], peer: number[]): number[] {
  const size = Math.ceil(ours.length / 5);
  return Array.from({ length: Math.ceil(ours.length / size) }, (_, part) => {
    const of = (values: number[]) => median(values.slice(part * size, (part + 1) * size));
    return of(ours) / of(peer);
  });
}
