import { setFlagsFromString } from 'node:v8';

/**
 * The percentage by which the heap may grow beyond the live objects of the last collection before the next one, and the
 * MiB that new objects fill, twice: what V8 lets a thread or a process fill beyond that it never gives back.
 */
export const smallHeapFlags: readonly string[] = ['--heap-growing-percent=60', '--max-semi-space-size=4'];

/**
 * Makes V8 collect earlier. By default the heap may grow to several times the live objects, so that a tenant whose
 * models answer with megabytes of garbage makes a process look as if it retained them. Call it before anything is
 * allocated; threads that start later inherit it. Their new objects get less space than those of the main thread, since
 * few of them live on: those of workflows and of texts that are redacted.
 */
export function limitHeapGrowth(): void {
  for (const flag of smallHeapFlags) setFlagsFromString(flag);
}
