import { setTimeout as sleep } from 'node:timers/promises';
import { providers } from '#adapters/sources/providers.ts';
import { mulberry32 } from '../support/model-script.ts';
import { ConnectorSpace, testProviders } from '../support/sources/connector-space.ts';
import { deployConnectors, type ConnectorDeployment } from './connector-deployment.ts';
import type { ConnectorOptions } from './connector-plan.ts';
import type { ConnectorRun } from './connector-report.ts';
import { oddRows, openRuns, runningRuns, runRows, storedTexts } from './connector-rows.ts';
import { startSources, type EditedSource } from './connector-sources.ts';
import { recoveryOf, strikeConnectors, type ConnectorStruck } from './connector-strikes.ts';
import { Fleet } from './fleet.ts';
import { until } from './knowledge-rows.ts';

const stuckAfterMs = 240_000;
/** Documents that a step has fetched and not stored: those of one page. */
const inFlight = 100;
/** How often a connector is also asked for a run while it runs. */
const askedAgain = 0.3;

/**
 * Connectors of several sources synchronise at once, again and again, while their sources are edited between the runs
 * and workers, PostgreSQL and Temporal are killed; after each round their documents are compared with the sources.
 */
export async function runConnectors(options: ConnectorOptions): Promise<ConnectorRun> {
  const sources = await startSources();
  try {
    const deployment = await deployConnectors(sources.map(({ origin }) => origin));
    try {
      return await runOn(deployment, sources, options);
    } finally {
      await deployment.stop();
    }
  } finally {
    await Promise.all(sources.map((source) => source.close()));
  }
}

async function runOn(
  deployment: ConnectorDeployment,
  sources: readonly EditedSource[],
  options: ConnectorOptions,
): Promise<ConnectorRun> {
  const startedAt = performance.now();
  const seconds = () => Math.round((performance.now() - startedAt) / 1_000);
  const say = (line: string) => options.say(`${seconds()} s  ${line}`);
  const random = mulberry32(options.seed);
  const { query, world, stack } = deployment;
  const fleet = new Fleet(stack);
  const run: Omit<ConnectorRun, 'missed' | 'seconds' | 'runs'> = {
    seed: options.seed,
    struck: [],
    recoveryMs: [],
    fetched: 0,
    repeated: 0,
    differences: [],
    fetchedTooOften: [],
    odd: [],
  };
  const missed: string[] = [];
  const spaces: ConnectorSpace[] = [];
  const asked = { added: options.documents, changed: 0, moved: 0, removed: 0 };
  const registry = testProviders(providers);

  /** As a client does that gets no answer: a run that is queued already takes it up. */
  const request = (space: ConnectorSpace) =>
    until('A run was not accepted', 60_000, () => space.request(), 250);
  /** Runs that end before they are struck are followed by others. */
  const ensureRunning = () =>
    until('No run was under way', 60_000, async () => {
      if ((await openRuns(query)).length === 0) for (const space of spaces) await request(space);
      return (await runningRuns(query)).length > 0 ? true : null;
    });
  const strike = async (kind: ConnectorStruck['kind'], recoveries: Promise<number | null>[]) => {
    try {
      await ensureRunning();
      await sleep(random() * options.pauseMs);
      const struck = await strikeConnectors(deployment, fleet, { kind, random, ensureRunning });
      run.struck.push(struck);
      const recovery = recoveryOf(deployment, struck).then((ms) => {
        say(`runs went on after ${kind} within ${ms === null ? 'no time' : `${Math.round(ms)} ms`}`);
        return ms;
      });
      recovery.catch(() => undefined);
      recoveries.push(recovery);
      say(`${kind} ${struck.signal} during ${struck.interrupted.length} runs`);
    } catch (error) {
      missed.push(`${kind}: ${(error as Error).message}`);
      say(missed.at(-1)!);
    }
  };
  for (const [nth, kills] of options.rounds.entries()) {
    const edited: number[] = [];
    for (const source of sources) edited.push(await source.edit(random, nth === 0 ? asked : options.edits));
    for (const { given } of nth === 0 ? sources : []) {
      const { slug: providerSlug, ...more } = given;
      spaces.push(await ConnectorSpace.create(world, registry, { providerSlug, ...more }));
    }
    for (const space of spaces) await request(space);
    const recoveries: Promise<number | null>[] = [];
    for (const kind of kills) {
      await strike(kind, recoveries);
      for (const space of spaces) if (random() < askedAgain) await request(space);
    }
    await until('Runs did not end', stuckAfterMs, async () =>
      (await openRuns(query)).length === 0 ? true : null,
    );
    run.recoveryMs.push(...(await Promise.all(recoveries)).filter((ms) => ms !== null));
    for (const [at, source] of sources.entries()) {
      const counts = [...source.relay.take()];
      const repeats = counts.reduce((sum, [, count]) => sum + count - 1, 0);
      run.fetched += counts.length;
      run.repeated += repeats;
      const often = counts.filter(([, count]) => count > 1 + kills.length);
      run.fetchedTooOften.push(
        ...often.map(([content, count]) => `round ${nth}, ${source.title}: ${count} times ${content}`),
      );
      if (counts.length > edited[at]! || repeats > inFlight * kills.length)
        run.fetchedTooOften.push(
          `round ${nth}, ${source.title}: ${counts.length} of ${edited[at]}, ${repeats} again`,
        );
      const stored = await storedTexts(query, spaces[at]!.collectionId);
      run.differences.push(...compare(source, stored).map((line) => `round ${nth}, ${line}`));
    }
    say(`round ${nth} is over`);
  }
  await fleet.settle();
  run.odd.push(...(await oddRows(query)), ...(await openWorkflows(deployment)));
  const runs = (await runRows(query)).length;
  return {
    ...run,
    runs,
    missed: [...missed, ...fleet.failures.map(({ message }) => message)],
    seconds: seconds(),
  };
}

function compare({ title, texts }: EditedSource, stored: readonly [string, string][]): string[] {
  const seen = new Set<string>();
  const wrong = stored.flatMap(([name, text]) => {
    const isTwice = seen.has(name);
    seen.add(name);
    return isTwice || texts.get(name) !== text ? [`${title}: ${name} is ${JSON.stringify(text)}`] : [];
  });
  const missing = [...texts.keys()].filter((name) => !seen.has(name)).map((name) => `${title}: no ${name}`);
  return [...wrong, ...missing];
}

/** Workflows of runs that do not end though their runs have. */
async function openWorkflows({ stack }: ConnectorDeployment): Promise<string[]> {
  const query = `ExecutionStatus = 'Running' and WorkflowType = 'syncConnector'`;
  let open: string[] = [];
  await until('', 60_000, async () => {
    open = [];
    for await (const { workflowId } of stack.temporal.workflow.list({ query })) open.push(workflowId);
    return open.length === 0 ? true : null;
  }).catch(() => undefined);
  return open;
}
