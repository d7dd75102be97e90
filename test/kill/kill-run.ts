import { setTimeout as sleep } from 'node:timers/promises';
import { mulberry32 } from '../support/model-script.ts';
import { deploy } from './deployment.ts';
import {
  distribute,
  measureRecovery,
  measureSilences,
  type Recovery,
  type WorkerKills,
} from './distribution.ts';
import { Fleet } from './fleet.ts';
import type { PlannedStrike, SilenceTarget, Strike } from './plan.ts';
import type { Part } from './scripts.ts';
import { perform, type Struck } from './strike.ts';
import { verifyTools, type ToolVerdict } from './tool-verdict.ts';
import { Traffic } from './traffic.ts';
import { verify, type Verdict } from './verify.ts';

export interface KillRun extends Verdict {
  seed: number;
  responses: number;
  /** Names of the scripts that were played at least once. */
  notified: ReadonlySet<string>;
  struck: Struck[];
  /** Kills of the plan that were impossible, with the reason. */
  missed: string[];
  workerKills: WorkerKills;
  recovery: Recovery;
  /** Milliseconds from when a server is reachable again to the end of the longest pause of each stream. */
  silences: ReadonlyMap<SilenceTarget, number[]>;
  /** Null where no response used a tool. */
  tools: ToolVerdict | null;
  seconds: number;
}

export interface KillRunOptions {
  seed: number;
  plan: readonly PlannedStrike[];
  gateways: number;
  workers: number;
  /** The scripts of the models, in order. */
  parts: readonly Part[];
  /** Responses that stream at any time. */
  concurrency: number;
  say: (line: string) => void;
}

/** After the last kill everything must end within this time, plus the time of a silent model or tool. */
const stuckAfterMs = 60_000;
const silentCallMs = 120_000;

/** Brings up a deployment, kills its processes by plan while responses stream, and judges every response. */
export async function runKills(options: KillRunOptions): Promise<KillRun> {
  const { seed, plan, say } = options;
  const startedAt = performance.now();
  const seconds = () => Math.round((performance.now() - startedAt) / 1_000);
  const random = mulberry32(seed);
  const deployment = await deploy(options);
  try {
    say(`deployed after ${seconds()} s`);
    const fleet = new Fleet(deployment.stack);
    const gateway = () => {
      const ready = fleet.ready('gateway');
      return ready[Math.floor(random() * ready.length)];
    };
    const traffic = new Traffic({ ...options, world: deployment.world, random, gateway });
    const field = { deployment, fleet, traffic, random };
    const struck: Struck[] = [];
    const missed: string[] = [];
    await sleep(1_500);
    for (const [i, { strike, pauseMs }] of plan.entries()) {
      await sleep(pauseMs);
      try {
        const result = await perform(field, strike);
        struck.push(result);
        say(`${seconds()} s  ${i + 1}/${plan.length} ${nameOf(strike)} pid ${result.pid} ${result.signal}`);
      } catch (error) {
        missed.push(`${nameOf(strike)}: ${(error as Error).message}`);
        say(`${seconds()} s  ${i + 1}/${plan.length} ${missed.at(-1)}`);
      }
    }
    say(`the last kill was ${seconds()} s after the start`);
    const calls = plan.some(
      ({ strike }) => strike.kind === 'silence' && ['model', 'tool'].includes(strike.target),
    );
    await traffic.finish(stuckAfterMs + (calls ? silentCallMs : 0));
    await fleet.settle();
    missed.push(...fleet.failures.map((failure) => `a replacement did not start: ${failure.message}`));
    say(`everything had ended after ${seconds()} s`);
    const verdict = await verify(deployment, fleet, traffic.all);
    const { tools } = deployment;
    return {
      ...verdict,
      seed,
      responses: traffic.all.length,
      notified: new Set(traffic.all.map(({ part }) => part.script.name)),
      struck,
      missed,
      workerKills: distribute(struck),
      recovery: measureRecovery(struck, verdict.attempts),
      silences: measureSilences(struck),
      tools: tools === null ? null : await verifyTools({ ...deployment, tools }, struck),
      seconds: seconds(),
    };
  } finally {
    await deployment.stop();
  }
}

/** Whether the process to kill ended otherwise. */
export function isSurvived({ strike, signal }: Struck): boolean {
  return strike.kind !== 'silence' && signal !== 'SIGKILL';
}

export function nameOf(strike: Strike): string {
  switch (strike.kind) {
    case 'worker':
      return `worker (${strike.aim})`;
    case 'failpoint':
      return `failpoint ${strike.name}:${strike.skip}`;
    case 'silence':
      return `${strike.target} silent ${strike.silence.way}${strike.silence.awayMs > 0 ? `, away for ${strike.silence.awayMs} ms` : ''}`;
    default:
      return strike.kind;
  }
}
