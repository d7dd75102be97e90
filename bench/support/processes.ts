import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { memorySettings } from '../../bin/launcher/memory-settings.ts';

const checkout = fileURLToPath(new URL('../../', import.meta.url));
/** The part of the bench's environment that its processes inherit. */
const passedOn = ['PATH', 'HOME', 'NODE_COMPILE_CACHE', 'WORKFLOW_BUNDLE'];

export interface BenchProcess {
  pid: number;
  /** SIGTERM; resolves when it has ended. */
  stop(): Promise<void>;
  signal(signal: NodeJS.Signals): void;
}

export interface LaunchInput {
  /** For its log and its profile. */
  name: string;
  folder: string;
  /** The entry, from the checkout. */
  entry: string;
  env?: Record<string, string>;
  /** Flags of Node before the entry. */
  flags?: readonly string[];
}

/** A gateway or worker, ready when this resolves. */
export async function launch(input: LaunchInput & { port: number }): Promise<BenchProcess> {
  const { child, stop } = start(input, ['pipe', log(input), log(input)]);
  for (let waitedMs = 0; waitedMs < 30_000; waitedMs += 50) {
    if (child.exitCode !== null) throw new Error(`${input.name} ended while starting.`);
    const ready = await fetch(`http://127.0.0.1:${input.port}/readyz`).then(
      (answer) => answer.ok,
      () => false,
    );
    if (ready) return { pid: child.pid!, stop, signal: (signal) => void child.kill(signal) };
    await sleep(50);
  }
  throw new Error(`${input.name} was not ready in time.`);
}

export interface Peer<T> extends BenchProcess {
  /** Its first line. */
  said: T;
  /** Sends a line of JSON and resolves with the line that answers it. */
  ask<Answer>(question: object): Promise<Answer>;
}

/** A peer, which writes one line of JSON when it is ready. */
export async function launchPeer<T>(input: LaunchInput): Promise<Peer<T>> {
  const { child, stop } = start(input, ['pipe', 'pipe', log(input)]);
  const lines = createInterface({ input: child.stdout! });
  const failed = once(child, 'exit').then(() => {
    throw new Error(`${input.name} ended while starting.`);
  });
  failed.catch(() => undefined);
  const [line] = (await Promise.race([once(lines, 'line'), failed])) as [string];
  return {
    pid: child.pid!,
    stop,
    signal: (signal) => void child.kill(signal),
    said: JSON.parse(line) as T,
    ask: async (question) => {
      const answer = once(lines, 'line');
      child.stdin!.write(`${JSON.stringify(question)}\n`);
      return JSON.parse(((await answer) as [string])[0]);
    },
  };
}

function log({ folder, name }: LaunchInput): number {
  return openSync(join(folder, `${name}.log`), 'a');
}

function start({ entry, env = {}, flags = [] }: LaunchInput, stdio: ['pipe', number | 'pipe', number]) {
  const child = spawn(process.execPath, ['--disable-warning=FSTDEP023', ...flags, entry], {
    cwd: checkout,
    env: {
      ...Object.fromEntries(passedOn.map((name) => [name, process.env[name]])),
      NODE_ENV: 'production',
      ...memorySettings,
      ...env,
    },
    // A session of its own, as under `npm start`: Linux divides the processors among sessions first.
    detached: true,
    stdio,
  });
  const exited = once(child, 'exit');
  const abandon = () => void child.kill('SIGKILL');
  process.once('exit', abandon);
  void exited.then(() => process.off('exit', abandon));
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
    await exited;
  };
  return { child, stop };
}
