import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { codeOf } from './errors.ts';

/** A process as recorded on disk: the pid alone may belong to another process by now. */
interface Recorded {
  pid: number;
  startedAt: string;
}

/** When a process started, in the platform's own words; undefined when there is no such process. */
function startedAt(pid: number): string | undefined {
  try {
    if (process.platform === 'linux') {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      // The name in parentheses may hold spaces; state is the first field after it, the start time the twentieth.
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return fields[0] === 'Z' ? undefined : fields[19];
    }
    return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim() || undefined;
  } catch {
    return undefined;
  }
}

/** The command line of a running process. */
export function commandOf(pid: number): string | undefined {
  try {
    if (process.platform === 'linux')
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
    return execFileSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' });
  } catch {
    return undefined;
  }
}

export function isAlive(pid: number): boolean {
  return startedAt(pid) !== undefined;
}

/** Sends a signal to a process, or with a negative pid to its group; a process that has gone is no error. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (codeOf(error) !== 'ESRCH') throw error;
  }
}

export function recordProcess(file: string, pid: number): void {
  const started = startedAt(pid);
  if (started === undefined) return;
  writeFileSync(file, JSON.stringify({ pid, startedAt: started } satisfies Recorded));
}

function readRecord(file: string): Recorded | undefined {
  try {
    const parsed: unknown = JSON.parse(readFileSync(file, 'utf8'));
    if (typeof parsed !== 'object' || parsed === null || !('pid' in parsed) || !('startedAt' in parsed))
      return undefined;
    const { pid, startedAt: started } = parsed;
    return typeof pid === 'number' && typeof started === 'string' ? { pid, startedAt: started } : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Waits for the recorded process to end, kills it after the grace period, and removes the record. Children of
 * a killed launcher may still be stopping when the next one starts; where nothing else may stop a process any more,
 * `signal` asks it to.
 */
export async function endRecorded(file: string, graceMs: number, signal?: NodeJS.Signals): Promise<void> {
  const recorded = readRecord(file);
  if (recorded) {
    const runs = (): boolean => startedAt(recorded.pid) === recorded.startedAt;
    if (signal !== undefined && runs()) sendSignal(recorded.pid, signal);
    const deadline = Date.now() + graceMs;
    while (runs() && Date.now() < deadline) await sleep(50);
    if (runs()) sendSignal(recorded.pid, 'SIGKILL');
    for (let waited = 0; runs() && waited < 2000; waited += 20) await sleep(20);
  }
  rmSync(file, { force: true });
}

/** Ends every process recorded in the folder. */
export async function endAllRecorded(folder: string, graceMs: number): Promise<void> {
  const files = readdirSync(folder).filter((name) => name.endsWith('.json'));
  await Promise.all(files.map((name) => endRecorded(join(folder, name), graceMs)));
}
