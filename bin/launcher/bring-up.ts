import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Children } from './children.ts';
import { childEnvironments, findOllama, gatewayUrl, type ChildEnvironments } from './child-environment.ts';
import type { DataDirectory } from './data-directory.ts';
import { saveDemo, knownDemoKey, type Demo } from './demo.ts';
import { demoProviderId } from '../platform/demo-users.ts';
import { LaunchError } from './errors.ts';
import { findTemporal, temporalCache } from './find-temporal.ts';
import { runHosted } from './hosted.ts';
import { prepareIdentityProvider, type DemoProvider } from './identity-provider.ts';
import type { Output } from './output.ts';
import { preparePostgres, SLOW_UPKEEP } from './postgres.ts';
import { waitUntilReady } from './readiness.ts';
import type { Settings } from './settings.ts';
import { adoptTemporal, prepareTemporal, SLOW_CLOCKS, waitForTemporal } from './temporal.ts';

/** The programs of the platform: arguments for Node, run in the checkout. */
export interface Commands {
  migrate: readonly string[];
  demo: readonly string[];
  gateway: readonly string[];
  worker: readonly string[];
  /** Of the demo; none in tests of the launcher alone. */
  identityProvider?: readonly string[];
}

export interface Launch {
  checkout: string;
  env: NodeJS.ProcessEnv;
  settings: Settings;
  data: DataDirectory;
  output: Output;
  commands: Commands;
  children: Children;
  /** Aborted to end the start; its reason says why. */
  ending: AbortController;
}

export interface RunningStack {
  demo: Demo | undefined;
  temporalUiUrl: string | undefined;
  /** Where a browser signs in to the demo. */
  signInUrl: string | undefined;
}

interface TemporalPlace {
  address: string;
  uiUrl: string | undefined;
}

const READY_WITHIN_MS = 60_000;
/** For a Temporal server to say that it listens. */
const SAID_WITHIN_MS = 15_000;

/** Brings the platform up from nothing until it is ready; independent steps run at once. */
export async function bringUp(launch: Launch): Promise<RunningStack> {
  const { env, settings, data, commands, children } = launch;
  const [adminUrl, temporal, ollamaUrl, provider] = await all(launch, [
    startDatabase(launch),
    startWorkflowServer(launch),
    findOllama(env),
    startIdentityProvider(launch),
  ]);
  const environments = childEnvironments({ env, settings, data, adminUrl, temporal, ollamaUrl, provider });

  await runToEnd(launch, 'migrate', environments.migrate);
  // They become ready while the demo data is seeded; the schema is migrated by then.
  children.startService('gateway', commands.gateway, environments.gateway);
  children.startService('worker', commands.worker, environments.worker);
  const [demo] = await all(launch, [
    seedDemo(launch, environments),
    waitForService(launch, 'gateway', { port: settings.ports.gateway, env: environments.gateway }),
    waitForService(launch, 'worker', { port: settings.ports.worker, env: environments.worker }),
    waitForProvider(launch, provider),
  ]);
  const signInUrl =
    provider === undefined ? undefined : `${gatewayUrl(settings)}/api/v1/auth/oidc/${demoProviderId}/start`;
  return { demo, temporalUiUrl: temporal.uiUrl, signInUrl };
}

async function startDatabase(launch: Launch): Promise<string> {
  const { settings, data, output, children, ending } = launch;
  if (settings.databaseUrl !== undefined) return settings.databaseUrl;
  const { signal } = ending;
  const preparing = preparePostgres({
    dataDir: data.postgres,
    port: settings.ports.postgres,
    settings: SLOW_UPKEEP,
    signal,
  });
  const postgres = await output.during('creating the database', preparing);
  children.startServer('postgres', () => postgres.spawn());
  await waitFor(launch, 'postgres', (signal) => postgres.ready(signal));
  return postgres.adminUrl;
}

/** Only with demo data: the provider serves the demo tenant alone. */
async function startIdentityProvider(
  launch: Launch,
): Promise<(DemoProvider & { instanceId: string }) | undefined> {
  const { env, settings, data, commands, children } = launch;
  if (!settings.seedsDemo || commands.identityProvider === undefined) return undefined;
  const provider = await prepareIdentityProvider(data.path);
  const instanceId = randomUUID();
  const callbacks = ['/api', '/api-proxy'].map(
    (prefix) => `${gatewayUrl(settings)}${prefix}/v1/auth/oidc/${demoProviderId}/callback`,
  );
  children.startService('identity-provider', commands.identityProvider, {
    PATH: env['PATH'],
    EXIT_WITH_PARENT: '1',
    INSTANCE_ID: instanceId,
    IDENTITY_PROVIDER_FILE: provider.file,
    IDENTITY_PROVIDER_REDIRECTS: callbacks.join(','),
  });
  return { ...provider, instanceId };
}

async function waitForProvider(
  launch: Launch,
  provider: Awaited<ReturnType<typeof startIdentityProvider>>,
): Promise<void> {
  if (provider === undefined) return;
  const { issuer, instanceId } = provider;
  const place = { url: `${issuer}/.well-known/openid-configuration`, instanceId };
  await waitFor(launch, 'identity-provider', (signal) => waitUntilReady(place, signal));
}

async function startWorkflowServer(launch: Launch): Promise<TemporalPlace> {
  const { env, settings, data, output, children, ending } = launch;
  const { temporalAddress, temporalUiUrl, ports } = settings;
  if (temporalAddress !== undefined) {
    await waitFor(launch, 'temporal', (signal) => adoptTemporal(temporalAddress, signal));
    return { address: temporalAddress, uiUrl: temporalUiUrl };
  }
  const { signal } = ending;
  const found = await findTemporal({ cacheDir: temporalCache(env), env, progress: output, signal });
  output.note(`Temporal server: ${found.how} (${found.path})`);
  const temporal = await prepareTemporal({
    binary: found.path,
    port: ports.temporal,
    uiPort: ports.temporalUi,
    dbFile: data.temporalFile,
    settings: SLOW_CLOCKS,
    recordFile: join(data.run, 'temporal-server.json'),
  });
  const listening = Promise.withResolvers<void>();
  children.startServer(
    'temporal',
    () => temporal.spawn(),
    (line) => {
      if (temporal.says(line)) listening.resolve();
    },
  );
  await waitFor(launch, 'temporal', async (signal) => {
    // A server that says it in other words would have ended by then if it had not got its port.
    await Promise.race([listening.promise, sleep(SAID_WITHIN_MS, undefined, { signal, ref: false })]);
    await waitForTemporal(temporal.address, signal);
  });
  return { address: temporal.address, uiUrl: temporal.uiUrl };
}

async function seedDemo(launch: Launch, { demo }: ChildEnvironments): Promise<Demo | undefined> {
  const { settings, data } = launch;
  if (!settings.seedsDemo) return undefined;
  const known = knownDemoKey(data.path);
  const printed = await runToEnd(launch, 'demo', { ...demo, ...(known ? { DEMO_API_KEY: known } : {}) });
  return saveDemo(data.path, printed);
}

const ONE_OFFS = { migrate: 'migrating the database', demo: 'seeding the demo data' } as const;

/**
 * Runs a command to its end and returns its standard output, which is not logged because it may hold a key.
 */
async function runToEnd(
  { checkout, commands, output, ending }: Launch,
  name: keyof typeof ONE_OFFS,
  env: NodeJS.ProcessEnv,
): Promise<string[]> {
  const onLine = (line: string, stream: 'stdout' | 'stderr'): void => {
    if (name === 'migrate' || stream === 'stderr') output.childLine(name, line);
  };
  const hosted = { command: process.execPath, args: commands[name], cwd: checkout, env };
  const running = runHosted(hosted, { onLine, signal: ending.signal });
  const { code, stdout } = await output.during(ONE_OFFS[name], running);
  if (code !== 0) throw new LaunchError(`The start stopped while ${ONE_OFFS[name]}.`, output.tail(name));
  return stdout;
}

function waitForService(
  launch: Launch,
  name: 'gateway' | 'worker',
  { port, env }: { port: number; env: NodeJS.ProcessEnv },
): Promise<void> {
  const place = { url: `http://127.0.0.1:${port}/readyz`, instanceId: env['INSTANCE_ID'] ?? '' };
  return waitFor(launch, name, (signal) => waitUntilReady(place, signal));
}

/** Waits with an announcement and a time limit; the failure carries a sentence and the child's last lines. */
async function waitFor(
  { output, ending }: Launch,
  name: string,
  ready: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const timeout = AbortSignal.timeout(READY_WITHIN_MS);
  try {
    await output.during(`waiting for ${name}`, ready(AbortSignal.any([ending.signal, timeout])));
  } catch (error) {
    ending.signal.throwIfAborted();
    if (!timeout.aborted) throw error;
    throw new LaunchError(`${name} was not ready within ${READY_WITHIN_MS / 1000} s.`, output.tail(name));
  }
}

/** Like Promise.all, but the first failure stops the others and waits for their end, so that nothing runs on unseen. */
async function all<T extends readonly Promise<unknown>[] | []>(
  { ending }: Launch,
  work: T,
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  for (const one of work) one.catch((error: unknown) => ending.abort(error));
  await Promise.allSettled(work);
  ending.signal.throwIfAborted();
  return Promise.all(work);
}
