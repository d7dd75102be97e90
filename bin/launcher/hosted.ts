import { fork, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const HOST = fileURLToPath(new URL('./host.ts', import.meta.url));

/** A command that must not outlive this process. */
export interface HostedCommand {
  command: string;
  args: readonly string[];
  env: NodeJS.ProcessEnv;
  cwd?: string;
  uid?: number;
  gid?: number;
  stopSignal: NodeJS.Signals;
  /** From the stop signal to SIGKILL of the whole group. */
  stopTimeoutMs: number;
  /** Where to record the running process, so that a later start can end it if it is left behind. */
  recordFile?: string;
}

/** Starts the command below a host process; SIGTERM to the returned process stops both. */
export function spawnHosted(hosted: HostedCommand): ChildProcess {
  return fork(HOST, [], {
    execArgv: [],
    // Not as an argument: it holds passwords, and every user of the machine sees arguments.
    env: { HOSTED_COMMAND: JSON.stringify(hosted) },
    // Its own session: Ctrl-C reaches the launcher alone, which then stops things in their order.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
}

/** The pid of the command itself, which is not the pid of its host. */
export function hostedPid(host: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    host.once('message', (message) => resolve((message as { pid: number }).pid));
    host.once('exit', () => reject(new Error('ended before it ran')));
  });
}

export interface RunInput {
  onLine?: (line: string, stream: 'stdout' | 'stderr') => void;
  signal?: AbortSignal;
}

/** Runs the command to its end and returns its exit code and last lines. */
export async function runHosted(
  hosted: Omit<HostedCommand, 'stopSignal' | 'stopTimeoutMs'>,
  { onLine, signal }: RunInput = {},
): Promise<{ code: number; stdout: string[]; tail: string[] }> {
  signal?.throwIfAborted();
  const host = spawnHosted({ ...hosted, stopSignal: 'SIGTERM', stopTimeoutMs: 2000 });
  const stop = (): void => void host.kill('SIGTERM');
  signal?.addEventListener('abort', stop, { once: true });
  const stdout: string[] = [];
  const tail: string[] = [];
  readLines(host, (line, stream) => {
    if (stream === 'stdout') stdout.push(line);
    tail.push(line);
    if (tail.length > 20) tail.shift();
    onLine?.(line, stream);
  });
  const code = await new Promise<number>((resolve) => host.once('close', (exit) => resolve(exit ?? 1)));
  signal?.removeEventListener('abort', stop);
  signal?.throwIfAborted();
  return { code, stdout, tail };
}

export function readLines(
  child: ChildProcess,
  onLine: (line: string, stream: 'stdout' | 'stderr') => void,
): void {
  for (const stream of ['stdout', 'stderr'] as const) {
    const source = child[stream];
    if (source) createInterface({ input: source }).on('line', (line) => onLine(line, stream));
  }
}
