import type { ConnectionStruck } from './strikes.ts';
import type { TokenVerdict } from './verdict.ts';

export interface ConnectionRun {
  seed: number;
  struck: ConnectionStruck[];
  /** Strikes of the plan that were impossible, and replacements that did not start. */
  missed: string[];
  /** How calls ended, by their account or error. */
  outputs: Record<string, number>;
  /** Calls that were made with another account than their person's. */
  foreign: string[];
  /** Responses that did not end. */
  stuck: string[];
  tokens: TokenVerdict;
  /** Connections that were made, and tries. */
  connected: number;
  tries: number;
  seconds: number;
}

/** Kills and silences with an answer of the token endpoint on its way. */
export const inFlight = ({ struck }: ConnectionRun): number =>
  struck.filter((each) => each.inFlight > 0).length;

/** The run on one screen. */
export function describeConnections(run: ConnectionRun): string {
  const { tokens } = run;
  const kinds = [...Map.groupBy(run.struck, ({ kind }) => kind)];
  const strikes = kinds.map(([kind, list]) => `${kind} ${list.length}`).join(', ');
  const outputs = Object.entries(run.outputs).map(([name, count]) => `${name} ${count}`);
  return [
    `connections: SEED=${run.seed}, ${run.seconds} s`,
    `  strikes       ${run.struck.length} (${strikes}), ${inFlight(run)} with an answer under way, not done ${run.missed.length}`,
    `  calls         ${outputs.join(', ')}, ${run.foreign.length} with another account, ${run.stuck.length} without an end`,
    `  connections   ${run.connected} made in ${run.tries} tries, ${tokens.revoked} ended by the authorization server, ${tokens.lost.length} lost`,
    `  refreshes     ${tokens.refreshes}, ${tokens.repeated} repeated after the loss of an answer, ${tokens.usedTwice.length} used twice without one`,
    ...[...run.missed, ...tokens.usedTwice, ...tokens.lost].map((fault) => `  fault         ${fault}`),
  ].join('\n');
}
