import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import type { Output } from './output.ts';
import { endAllRecorded, recordProcess } from './processes.ts';
import { supervise, type Supervised } from './supervise.ts';

export interface Children {
  /** A server below a host process. `onLine` sees each line that it prints. */
  startServer(
    name: 'postgres' | 'temporal',
    spawnHost: () => ChildProcess,
    onLine?: (line: string) => void,
  ): void;
  /** The gateway, the worker or the demo's identity provider: arguments for Node, run in the checkout. */
  startService(
    name: 'gateway' | 'worker' | 'identity-provider',
    args: readonly string[],
    env: NodeJS.ProcessEnv,
  ): void;
  /** In the order that lets each finish its work: services, Temporal, PostgreSQL. */
  stopAll(): Promise<void>;
}

export interface ChildrenInput {
  checkout: string;
  /** Where running processes are recorded for the next start. */
  runFolder: string;
  output: Output;
  /** Aborted by the child that crashes too often. */
  ending: AbortController;
}

/** Together with the servers' own stop times below ten seconds. */
const SERVICE_GRACE_MS = 6000;
const HOST_GRACE_MS = 2000;

/** The long-running processes. */
export function createChildren({ checkout, runFolder, output, ending }: ChildrenInput): Children {
  const running = new Map<string, Supervised>();
  let stopping = false;

  function start(
    name: string,
    spawnChild: () => ChildProcess,
    onLine: (line: string) => void = () => undefined,
  ): void {
    ending.signal.throwIfAborted();
    const child = supervise({
      name,
      spawn: spawnChild,
      onLine: (line) => {
        output.childLine(name, line, isQuiet(name, line, stopping));
        onLine(line);
      },
      note: (text) => output.note(text),
      onSpawn: (pid) => recordProcess(join(runFolder, `${name}.json`), pid),
      onGiveUp: (error) => ending.abort(error),
      tail: () => output.tail(name),
    });
    running.set(name, child);
  }

  async function stop(name: string, graceMs: number): Promise<void> {
    await running.get(name)?.stop(graceMs);
  }

  return {
    startServer: start,
    startService(name, args, env) {
      // Its own session keeps Ctrl-C away; the open standard input shows it that the launcher lives.
      start(name, () =>
        spawn(process.execPath, args, {
          cwd: checkout,
          env,
          detached: true,
          stdio: ['pipe', 'pipe', 'pipe'],
        }),
      );
    },
    async stopAll() {
      stopping = true;
      await Promise.all([
        stop('gateway', SERVICE_GRACE_MS),
        stop('worker', SERVICE_GRACE_MS),
        stop('identity-provider', HOST_GRACE_MS),
      ]);
      await stop('temporal', HOST_GRACE_MS);
      await stop('postgres', HOST_GRACE_MS);
      // All children have ended: no record is left for the next start.
      await endAllRecorded(runFolder, 0);
    },
  };
}

/** Servers log much; the screen shows failures, the log file everything. */
function isQuiet(name: string, line: string, stopping: boolean): boolean {
  if (name === 'postgres') return stopping || !/WARNING|PANIC|cannot/.test(line);
  if (name === 'temporal') return stopping || !/level=(WARN|ERROR)|error:/i.test(line);
  return false;
}
