import { fileURLToPath } from 'node:url';
import { bringUp, type Commands } from './bring-up.ts';
import { createChildren } from './children.ts';
import { openDataDirectory, type DataDirectory } from './data-directory.ts';
import { LaunchError, messageOf } from './errors.ts';
import { createOutput, type Output } from './output.ts';
import type { Lock } from './lock.ts';
import { claimPorts } from './port-claims.ts';
import { requireFreePorts } from './ports.ts';
import { endLeftServer } from './postgres.ts';
import { endAllRecorded } from './processes.ts';
import { renderScreen } from './screen.ts';
import { readSettings, wantedPorts, type Settings } from './settings.ts';

export interface LaunchInput {
  env: NodeJS.ProcessEnv;
  args: readonly string[];
  /** The programs of the platform; a test gives its own. */
  commands?: Commands;
}

const CHECKOUT = fileURLToPath(new URL('../..', import.meta.url));
const PLATFORM: Commands = {
  migrate: ['bin/platform.ts', 'migrate'],
  // The screen suggests questions about these documents, so they have to be searchable first.
  demo: ['bin/platform.ts', 'demo', '--json', '--wait', '30'],
  gateway: ['api/main.ts'],
  worker: ['temporal/worker.ts'],
  identityProvider: ['bin/identity-provider.ts'],
};
/** A server left by a killed launcher gets its own stop time and a little more. */
const LEFTOVER_GRACE_MS = 9000;
/** The reason for a regular end: a signal, or the death of the process that started this one. */
const STOPPED = Symbol('stopped');

/** Brings everything up, keeps it running, and resolves with the exit code once everything is down again. */
export async function launch({ env, args, commands = PLATFORM }: LaunchInput): Promise<number> {
  let data: DataDirectory | undefined;
  let output: Output | undefined;
  try {
    const settings = readSettings(env, args, CHECKOUT);
    data = openDataDirectory(settings.dataDirectory);
    output = createOutput(process.stdout, data.logs);
    await runUntilStopped({ env, settings, data, output, commands });
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
}

async function runUntilStopped(run: Run): Promise<void> {
  const { data, output, settings } = run;
  const began = Date.now();
  const ending = new AbortController();
  const children = createChildren({ checkout: CHECKOUT, runFolder: data.run, output, ending });
  const stopWatching = watchForEnd(() => ending.abort(STOPPED));
  let claimed: Lock | undefined;
  try {
    const leftovers = Promise.all([
      endAllRecorded(data.run, LEFTOVER_GRACE_MS),
      endLeftServer(data.postgres, LEFTOVER_GRACE_MS),
    ]);
    await output.during('waiting for processes of an earlier start to end', leftovers);
    const wanted = wantedPorts(settings);
    await requireFreePorts(wanted);
    claimed = claimPorts(wanted);
    const { demo, temporalUiUrl, signInUrl } = await bringUp({
      ...run,
      checkout: CHECKOUT,
      children,
      ending,
    });
    const tookSeconds = (Date.now() - began) / 1000;
    const gatewayPort = settings.ports.gateway;
    output.show(
      renderScreen({ gatewayPort, temporalUiUrl, signInUrl, demo, tookSeconds, stream: process.stdout }),
    );
    await aborted(ending.signal);
  } catch (error) {
    ending.abort(error);
  } finally {
    await output.during('stopping', children.stopAll());
    claimed?.release();
    stopWatching();
  }
  if (ending.signal.reason !== STOPPED) throw ending.signal.reason;
}

function watchForEnd(end: () => void): () => void {
  const events = ['SIGINT', 'SIGTERM', 'SIGHUP', 'disconnect'] as const;
  for (const event of events) process.on(event, end);
  return () => {
    for (const event of events) process.off(event, end);
  };
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
