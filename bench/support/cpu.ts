import { readdirSync, readFileSync } from 'node:fs';

/** Of the kernel's clock ticks, which are 100 a second wherever Linux runs on the usual processors. */
const msPerTick = 10;

interface ProcessRow {
  pid: number;
  parent: number;
  ticks: number;
}

export type CpuByPart = Record<string, number>;

/**
 * Milliseconds of processor time that each of these processes has used, with all its descendants, ended ones
 * included.
 */
export function cpuOf(parts: Record<string, number>): CpuByPart {
  const rows = readRows();
  const of = (root: number) => {
    const found = below(root, rows);
    return rows.filter(({ pid }) => found.has(pid)).reduce((ticks, row) => ticks + row.ticks, 0) * msPerTick;
  };
  return Object.fromEntries(
    Object.entries(parts).map(([name, pid]) => [name, pid === process.pid ? ownCpu() : of(pid)]),
  );
}

function readRows(): ProcessRow[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => readRow(pid));
}

/** A process and all its descendants. */
function below(root: number, rows: readonly ProcessRow[]): Set<number> {
  const found = new Set([root]);
  for (let before = -1; before !== found.size;) {
    before = found.size;
    for (const { pid, parent } of rows) if (found.has(parent)) found.add(pid);
  }
  return found;
}

export interface ProcessCpu {
  pid: number;
  /** Milliseconds of processor time so far. */
  ms: number;
}

/** The same for a process and each of its descendants separately. */
export function cpuBelow(root: number): ProcessCpu[] {
  const rows = readRows();
  const found = below(root, rows);
  return rows.filter(({ pid }) => found.has(pid)).map(({ pid, ticks }) => ({ pid, ms: ticks * msPerTick }));
}

/** Without the descendants: here they are measured separately. */
function ownCpu(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** The time of a process that ends meanwhile is counted by its parent, which inherits it. */
function readRow(pid: string): ProcessRow[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name may hold blanks and brackets; everything behind the last bracket is numbers.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [parent, ...times] = [1, 11, 12, 13, 14].map((index) => Number(fields[index]));
    return [{ pid: Number(pid), parent: parent!, ticks: times.reduce((a, b) => a + b, 0) }];
  } catch {
    return [];
  }
}
