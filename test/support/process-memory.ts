import { readdirSync, readFileSync } from 'node:fs';

/** Bytes of memory that a process has resident now; 0 of a zombie. @throws when it has ended */
export function residentBytes(pid: number): number {
  const [, kilobytes = 0] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) * 1_024;
}

/**
 * Bytes of a process's own memory (PSS): of pages that several processes share, such as those of the program, each has
 * its share. @throws when it has ended, also before its parent has noticed
 */
export function proportionalBytes(pid: number): number {
  const [, kilobytes = 0] =
    /^Pss:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')) ?? [];
  return Number(kilobytes) * 1_024;
}

/** The same with the processes that it has started and that run now; 0 when it has ended. */
export function proportionalBytesWithChildren(pid: number): number {
  const bytes = [pid, ...childrenOf(pid)].map((each) => ifThere(() => proportionalBytes(each)) ?? 0);
  return bytes.reduce((sum, each) => sum + each, 0);
}

/** The processes that it has started and that run now: each thread lists its own. */
export function childrenOf(pid: number): number[] {
  const threads = ifThere(() => readdirSync(`/proc/${pid}/task`)) ?? [];
  const lists = threads.map((thread) =>
    ifThere(() => readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8')),
  );
  return lists.flatMap((list) => (list ?? '').split(' ').filter(Boolean).map(Number));
}

/** Threads and processes may end while they are looked at. */
function ifThere<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
