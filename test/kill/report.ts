import { countContinuations, percentile } from './distribution.ts';
import type { KillRun } from './kill-run.ts';
import type { ToolVerdict } from './tool-verdict.ts';

/** The run on one screen. */
export function report(run: KillRun): string {
  const kinds = Map.groupBy(run.struck, ({ strike }) => strike.kind);
  const kills = [...kinds].map(([kind, list]) => `${kind} ${list.length}`).join(', ');
  const bySigkill = run.struck.filter(({ signal }) => signal === 'SIGKILL').length;
  const continuations = countContinuations(run.attempts);
  const going = [...continuations].filter(([name]) => name !== 'fresh');
  const continued = going.reduce((sum, [, count]) => sum + count, 0);
  const shares = going.map(([name, count]) => `${name} ${count} (${share(count, continued)})`).join(', ');
  const { betweenDeltas, otherwise, total } = run.workerKills;
  const rows: [string, string][] = [
    ['seed', `${run.seed} (repeat with SEED=${run.seed})`],
    ['strikes', `${run.struck.length} (${kills}); ${bySigkill} seen as SIGKILL in the exit status`],
    ['not done', run.missed.length === 0 ? '0' : run.missed.join(' | ')],
    ['responses', `${run.responses}, ${run.eventsChecked} events checked against O1–O10`],
    ['lost', String(run.lost.length)],
    ['stuck', String(run.stuck.length)],
    ['continued', `${continued} attempts: ${shares}`],
    [
      'worker kills',
      `${betweenDeltas} of ${total} between two deltas of one item (${share(betweenDeltas, total)}), ${otherwise} elsewhere`,
    ],
    ['recovery begun', `${times(run.recovery.begun)} after a worker's kill`],
    ['next event', `${times(run.recovery.nextEvent)} after a worker's kill`],
    ...[...run.silences].map(([target, pauses]): [string, string] => [
      `${target} silent`,
      `${times(pauses)}: longest pause of each stream`,
    ]),
    ...(run.tools === null ? [] : toolRows(run.tools, run.struck.length)),
    ['took', `${run.seconds} s`],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  const lines = rows.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`);
  return [
    '',
    'kill run',
    ...lines,
    ...run.recovery.slow.map((line) => `  slow ${line}`),
    ...run.lost.slice(0, 20).map((loss) => `  LOST ${loss}`),
    ...(run.tools?.broken.slice(0, 20).map((promise) => `  BROKEN ${promise}`) ?? []),
    '',
  ].join('\n');
}

function toolRows(tools: ToolVerdict, kills: number): [string, string][] {
  return [
    [
      'tool calls',
      `${tools.calls}: ${tools.arrivals} arrivals, ${tools.effects} effects written by the server`,
    ],
    [
      'in a tool',
      `${tools.inFlight} of ${kills} kills between receipt and recorded outcome (${share(tools.inFlight, kills)})`,
    ],
    ['unknown', `${tools.unknown} outcomes, each told in its item and in the log`],
    ['promises broken', String(tools.broken.length)],
  ];
}

function times(values: readonly number[]): string {
  const shown = [0.5, 0.95, 1].map((part) => Math.round(percentile(values, part)));
  return `p50 ${shown[0]} ms, p95 ${shown[1]} ms, max ${shown[2]} ms (n = ${values.length})`;
}

function share(count: number, total: number): string {
  return `${total === 0 ? 0 : Math.round((100 * count) / total)} %`;
}
