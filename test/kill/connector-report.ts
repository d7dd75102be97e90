import type { ConnectorStruck } from './connector-strikes.ts';
import { percentile } from './distribution.ts';

export interface ConnectorRun {
  seed: number;
  struck: ConnectorStruck[];
  /** Kills of the plan that were impossible, and replacements that did not start. */
  missed: string[];
  recoveryMs: number[];
  runs: number;
  /** Contents that were asked for, and how often one was asked for again. */
  fetched: number;
  repeated: number;
  /** Documents that are not what their source has. */
  differences: string[];
  fetchedTooOften: string[];
  /** Rows and events that contradict each other, and what did not end. */
  odd: string[];
  seconds: number;
}

/** Kills that left a run unfinished. */
export const cutOff = ({ struck }: ConnectorRun): number =>
  struck.filter(({ interrupted }) => interrupted.length > 0).length;

/** The run on one screen. */
export function describeConnectors(run: ConnectorRun): string {
  const kinds = [...Map.groupBy(run.struck, ({ kind }) => kind)];
  const kills = kinds.map(([kind, list]) => `${kind} ${list.length}`).join(', ');
  const seconds = (share: number) => (percentile(run.recoveryMs, share) / 1_000).toFixed(1);
  return [
    `connectors: SEED=${run.seed}, ${run.runs} runs, ${run.seconds} s`,
    `  kills         ${run.struck.length} (${kills}), ${cutOff(run)} of them during runs, not done ${run.missed.length}`,
    `  recovery      p50 ${seconds(0.5)} s, max ${seconds(1)} s over ${run.recoveryMs.length}`,
    `  contents      ${run.fetched} fetched, ${run.repeated} again, ${run.fetchedTooOften.length} too often`,
    `  documents     ${run.differences.length} different from their sources, ${run.odd.length} odd rows`,
  ].join('\n');
}
