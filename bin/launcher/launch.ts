import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createChildren, type Children } from './children.ts';
import { childEnvironments, findOllama, type ChildEnvironments } from './child-environment.ts';
import { openDataDirectory, type DataDirectory } from './data-directory.ts';
import { keepDemo, knownDemoKey, type Demo } from './demo.ts';
import { LaunchError, messageOf } from './errors.ts';
import { findTemporal, temporalCache } from './find-temporal.ts';
import { runHosted } from './hosted.ts';
import { createOutput, type Output } from './output.ts';
import { requireFreePorts } from './ports.ts';
import { preparePostgres, waitForPostgres } from './postgres.ts';
import { endAllRecorded } from './processes.ts';
import { waitUntilReady } from './readiness.ts';
import { renderScreen } from './screen.ts';
import { readSettings, wantedPorts, type Settings } from './settings.ts';
import { adoptTemporal, prepareTemporal, waitForTemporal } from './temporal.ts';

/** Arguments for Node, run in the checkout. */
export interface Commands {
  migrate: readonly string[];
  demo: readonly string[];
  gateway: readonly string[];
  worker: readonly string[];
}

export interface LaunchInput {
  env: NodeJS.ProcessEnv;
  args: readonly string[];
  /** The programs of the platform; a test gives its own. */
  commands?: Commands;
}

const CHECKOUT = fileURLToPath(new URL('../..', import.meta.url));
const PLATFORM: Commands = {
  migrate: ['bin/platform.ts', 'migrate'],
  demo: ['bin/platform.ts', 'demo', '--json'],
  gateway: ['api/main.ts'],
  worker: ['temporal/worker.ts'],
};
const READY_WITHIN_MS = 60_000;
/** A server left by a killed launcher is given its own stop time and a little more. */
const LEFTOVER_GRACE_MS = 9000;

/** Brings everything up, keeps it running, and resolves with the exit code once everything is down again. */
export async function launch({ env, args, commands = PLATFORM }: LaunchInput): Promise<number> {
  const stream = process.stdout;
  let data: DataDirectory | undefined;
  let output: Output | undefined;
  try {
    const settings = readSettings(env, args, CHECKOUT);
    data = openDataDirectory(settings.dataDirectory);
    output = createOutput(stream, data.logs);
    await runUntilStopped({ env, settings, data, output, commands, stream });
    return 0;
  } catch (error) {
    output?.close();
    report(error);
    return 1;
  } finally {
    output?.close();
    data?.release();
  }
}

interface Run {
  env: NodeJS.ProcessEnv;
  settings: Settings;
  data: DataDirectory;
  output: Output;
  commands: Commands;
  stream: NodeJS.WriteStream;
}

/** Stopped by a signal, or by the channel to the process that started this one. */
const STOPPED = Symbol('stopped');

async function runUntilStopped(run: Run): Promise<void> {
  const { data, output, settings, stream } = run;
  const began = Date.now();
  const ending = new AbortController();
  const stop = (): void => ending.abort(STOPPED);
  const children = createChildren({ checkout: CHECKOUT, runFolder: data.run, output, ending });
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, stop);
  process.on('disconnect', stop);
  try {
    await output.during(
      'waiting for processes of an earlier start to end',
      endAllRecorded(data.run, LEFTOVER_GRACE_MS),
    );
    await requireFreePorts(wantedPorts(settings));
    const { demo, temporalUiUrl } = await bringUp(run, children, ending);
    const tookSeconds = (Date.now() - began) / 1000;
    output.show(
      renderScreen({ gatewayPort: settings.ports.gateway, temporalUiUrl, demo, tookSeconds, stream }),
    );
    await aborted(ending.signal);
  } catch (error) {
    ending.abort(error);
  } finally {
    await output.during('stopping', children.stopAll());
    for (const signal of signals) process.off(signal, stop);
    process.off('disconnect', stop);
  }
  if (ending.signal.reason !== STOPPED) throw ending.signal.reason;
}

async function bringUp(
  run: Run,
  children: Children,
  ending: AbortController,
): Promise<{ demo: Demo | undefined; temporalUiUrl: string | undefined }> {
  const { env, settings, data, output, commands } = run;
  const [adminUrl, temporal, ollamaUrl] = await allOrAbort(
    [
      startDatabase(run, children, ending.signal),
      startWorkflowServer(run, children, ending.signal),
      findOllama(env),
    ],
    ending,
  );
  const environments = childEnvironments({ env, settings, data, adminUrl, temporal, ollamaUrl });

  await runToEnd(run, { name: 'migrate', environment: environments.admin, signal: ending.signal });
  // They become ready while the demo data goes in; their schema is there.
  children.startService('gateway', commands.gateway, environments.runtime);
  children.startService('worker', commands.worker, environments.runtime);
  const gateway = `http://127.0.0.1:${settings.ports.gateway}/readyz`;
  const worker = `http://127.0.0.1:${settings.ports.worker}/readyz`;
  const [demo] = await allOrAbort(
    [
      seedDemo(run, environments, ending.signal),
      output.during('waiting for the gateway', readyInTime('gateway', gateway, ending.signal, output)),
      output.during('waiting for the worker', readyInTime('worker', worker, ending.signal, output)),
    ],
    ending,
  );
  return { demo, temporalUiUrl: temporal.uiUrl };
}

async function startDatabase(
  { settings, data, output }: Run,
  children: Children,
  signal: AbortSignal,
): Promise<string> {
  if (settings.databaseUrl !== undefined) return settings.databaseUrl;
  const preparing = preparePostgres({ dataDir: data.postgres, port: settings.ports.postgres, signal });
  const postgres = await output.during('creating the database', preparing);
  children.startServer('postgres', () => postgres.spawn());
  await output.during('waiting for PostgreSQL', waitForPostgres(postgres.adminUrl, signal));
  return postgres.adminUrl;
}

async function startWorkflowServer(
  { env, settings, data, output }: Run,
  children: Children,
  signal: AbortSignal,
): Promise<{ address: string; uiUrl: string | undefined }> {
  const { temporalAddress, temporalUiUrl, ports } = settings;
  if (temporalAddress !== undefined) {
    await output.during('waiting for the Temporal server', adoptTemporal(temporalAddress, signal));
    return { address: temporalAddress, uiUrl: temporalUiUrl };
  }
  const { path, how } = await findTemporal({ cacheDir: temporalCache(env), env, progress: output, signal });
  output.note(`Temporal server: ${how} (${path})`);
  const temporal = await prepareTemporal({
    binary: path,
    port: ports.temporal,
    uiPort: ports.temporalUi,
    dbFile: data.temporalFile,
    recordFile: join(data.run, 'temporal-server.json'),
  });
  children.startServer('temporal', () => temporal.spawn());
  await output.during('waiting for the Temporal server', waitForTemporal(temporal.address, signal));
  return { address: temporal.address, uiUrl: temporal.uiUrl };
}

async function seedDemo(
  run: Run,
  environments: ChildEnvironments,
  signal: AbortSignal,
): Promise<Demo | undefined> {
  if (!run.settings.seedsDemo) return undefined;
  const known = knownDemoKey(run.data.path);
  const environment =
    known === undefined ? environments.admin : { ...environments.admin, DEMO_API_KEY: known };
  const printed = await runToEnd(run, { name: 'demo', environment, signal });
  return keepDemo(run.data.path, printed);
}

interface OneOff {
  name: 'migrate' | 'demo';
  environment: NodeJS.ProcessEnv;
  signal: AbortSignal;
}

/** Runs a command of the platform and answers its standard output, which goes into no log: it may hold a key. */
async function runToEnd({ commands, output }: Run, { name, environment, signal }: OneOff): Promise<string[]> {
  const what = name === 'migrate' ? 'migrating the database' : 'seeding the demo data';
  const onLine = (line: string, source: 'stdout' | 'stderr'): void => {
    if (name === 'migrate' || source === 'stderr') output.childLine(name, line);
  };
  const hosted = { command: process.execPath, args: commands[name], cwd: CHECKOUT, env: environment };
  const { code, stdout } = await output.during(what, runHosted(hosted, { onLine, signal }));
  if (code !== 0)
    throw new LaunchError(`${what[0]?.toUpperCase()}${what.slice(1)} failed.`, output.tail(name));
  return stdout;
}

/** Like Promise.all, but the first failure stops the others and waits for their end, so that nothing runs on unseen. */
async function allOrAbort<T extends readonly Promise<unknown>[] | []>(
  work: T,
  ending: AbortController,
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  for (const one of work) one.catch((error: unknown) => ending.abort(error));
  await Promise.allSettled(work);
  ending.signal.throwIfAborted();
  return Promise.all(work);
}

async function readyInTime(name: string, url: string, signal: AbortSignal, output: Output): Promise<void> {
  const timeout = AbortSignal.timeout(READY_WITHIN_MS);
  try {
    await waitUntilReady(url, AbortSignal.any([signal, timeout]));
  } catch (error) {
    signal.throwIfAborted();
    if (!timeout.aborted) throw error;
    throw new LaunchError(
      `The ${name} was not ready within ${READY_WITHIN_MS / 1000} s (${url}).`,
      output.tail(name),
    );
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

function report(error: unknown): void {
  const known = error instanceof LaunchError;
  for (const line of known ? error.detail : []) process.stderr.write(`  ${line}\n`);
  process.stderr.write(`${known ? error.message : `The start failed: ${messageOf(error)}`}\n`);
}
