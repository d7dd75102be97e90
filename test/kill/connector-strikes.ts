import { workflowIdOf } from '#domain/foundation/durable/workflow-types.ts';
import type { StackProcess } from '../support/stack.ts';
import type { ConnectorDeployment } from './connector-deployment.ts';
import type { ConnectorStrike } from './connector-plan.ts';
import { runningRuns, runRows, type RunRow } from './connector-rows.ts';
import type { Fleet } from './fleet.ts';
import { until } from './knowledge-rows.ts';

export interface ConnectorStruck {
  kind: ConnectorStrike;
  signal: string | null;
  at: number;
  /** Runs that were under way. */
  interrupted: readonly RunRow[];
}

const holderMs = 60_000;
const recoveryMs = 120_000;
/** The number of the proto's enumeration. */
const started = 2;

interface StrikeInput {
  kind: ConnectorStrike;
  random: () => number;
  /** Resolves when a run is under way. */
  ensureRunning: () => Promise<unknown>;
}

/** @throws when no worker holds a run in time */
export async function strikeConnectors(
  deployment: ConnectorDeployment,
  fleet: Fleet,
  { kind, random, ensureRunning }: StrikeInput,
): Promise<ConnectorStruck> {
  const underWay = () => until('The runs were not read', 30_000, () => runningRuns(deployment.query));
  await ensureRunning();
  if (kind === 'postgres' || kind === 'temporal') {
    const interrupted = await underWay();
    const at = performance.now();
    const { signal } = await deployment[kind].killAndRestart();
    return { kind, signal, at, interrupted };
  }
  await fleet.untilReady('worker', 2);
  const victim =
    kind === 'anywhere'
      ? fleet.ready('worker')[Math.floor(random() * 2)]
      : await until('A worker that holds a run', holderMs, async () => {
          await ensureRunning();
          return holder(deployment, fleet);
        });
  const interrupted = await underWay();
  const at = performance.now();
  return { kind, signal: await fleet.kill(victim!), at, interrupted };
}

/** The ready worker that runs an activity of a run. */
async function holder({ query, stack }: ConnectorDeployment, fleet: Fleet): Promise<StackProcess | null> {
  for (const { id: runId, tenant_id: tenantId } of await runningRuns(query)) {
    const handle = stack.temporal.workflow.getHandle(workflowIdOf('syncConnector', { tenantId, runId }));
    const description = await handle.describe().catch(() => null);
    const [activity] = description?.raw.pendingActivities ?? [];
    if (Number(activity?.state) !== started) continue;
    const pid = Number.parseInt(activity?.lastWorkerIdentity ?? '', 10);
    const worker = fleet.ready('worker').find(({ child }) => child.pid === pid);
    if (worker !== undefined) return worker;
  }
  return null;
}

/** Milliseconds from a kill until every run that was under way has stored something more, or has ended. */
export async function recoveryOf(
  { query }: ConnectorDeployment,
  { kind, at, interrupted }: ConnectorStruck,
): Promise<number | null> {
  if (interrupted.length === 0) return null;
  const before = new Map(interrupted.map(({ id, progress }) => [id, progress]));
  return until(`Runs did not go on after a kill (${kind})`, recoveryMs, async () => {
    const now = await runRows(query);
    const moved = now.filter(({ id, progress }) => before.has(id) && before.get(id) !== progress);
    return moved.length === before.size ? performance.now() - at : null;
  });
}
