import { readFileSync } from 'node:fs';
import { childrenOf } from './process-memory.ts';

/** Numbers of the processes that this process has started to make and compare vectors. */
export const vectorProcesses = (): number[] =>
  childrenOf(process.pid).filter((pid) =>
    readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('vector-process'),
  );
