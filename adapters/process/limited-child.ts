import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { smallHeapFlags } from './limit-heap-growth.ts';

export interface ChildLimits {
  heapMb: number;
  /** Resident memory, buffers included. */
  residentMb: number;
}

const shell = '/bin/sh';
/** Added to the nice value: interactive work has priority. */
const politeness = 15;
/** Of the session: a third of the weight of others. */
const sessionNice = 5;
/**
 * Linux may divide processors among sessions first, and regards nice values only within one: the share of a session of
 * its own is a third of that of PostgreSQL, Temporal or a worker, and not the least, with which a document would get no
 * processor as long as others keep them busy. Where it does not, the file is missing. It refuses the change
 * to an unprivileged user for a tenth of a second after any other: it is tried for two seconds.
 */
export const politeSession = (share: string): string =>
  `n=20; while [ -e ${share} ] && [ $n -gt 0 ] && ! echo ${sessionNice} > ${share}; do n=$((n-1)); sleep 0.1; done`;
/**
 * Data that is mapped but not resident: 1,060 MiB of a process that has begun, reserves of the heap and of modules, and
 * some that a task maps until the next check of what is resident, whose limit is the first to be exceeded.
 */
const mappedMb = 1_280;
const pageKb = 4;

/**
 * Returns what is freed to the system, as a small heap does: while it works, such a process counts with its worker. New
 * objects that fill 16 MiB, and a heap that doubles, take 30 MiB more and save no time that can be measured.
 */
const smallHeapEnv = { MALLOC_ARENA_MAX: '1', MALLOC_TRIM_THRESHOLD_: '131072' };

/**
 * Starts a module as a process with limits of the operating system: of mapped data, no core dump, no files written. It
 * gets no environment but the settings of its memory, and this process's number as its argument.
 */
export function startLimitedChild(module: string, { heapMb, residentMb }: ChildLimits): ChildProcess {
  const program = [
    process.execPath,
    `--max-old-space-size=${heapMb}`,
    ...smallHeapFlags,
    module,
    String(process.pid),
  ];
  const limits = [
    `ulimit -d ${(residentMb + mappedMb) * 1_024}`,
    'ulimit -c 0',
    'ulimit -f 0',
    `{ ${politeSession('/proc/self/autogroup')}; }`,
    `exec nice -n ${politeness} "$@"`,
  ];
  const hasShell = existsSync(shell);
  const [command = process.execPath, ...args] = hasShell
    ? [shell, '-c', limits.join(' 2>/dev/null; '), 'sh', ...program]
    : program;
  return spawn(command, args, {
    env: smallHeapEnv,
    stdio: ['pipe', 'ignore', 'ignore', 'ipc'],
    serialization: 'advanced',
    detached: hasShell,
    windowsHide: true,
  });
}

/**
 * Resident memory of a process; 0 when it has ended, or where the system does not show it. Read at once: the file is made
 * in memory, and to wait for it in turns of the event loop took a tenth of a busy worker's time.
 */
export function residentMbOf(pid: number): number {
  try {
    return (Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * pageKb) / 1_024;
  } catch {
    return 0;
  }
}
