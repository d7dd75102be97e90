import { setFlagsFromString } from 'node:v8';

/** Percent by which the heap may grow beyond the live objects of the last collection before the next one. */
const growth = 60;
/** MiB that new objects of a thread fill, twice; a thread that V8 lets fill more never gives it back. */
const threadSemiSpace = 4;

/**
 * Makes V8 collect earlier. By default the heap may grow to several times the live objects, so that a tenant whose
 * models answer with megabytes of garbage makes a process look as if it retained them. Call it before anything is
 * allocated; threads that start later inherit it. Their new objects get less space than those of the main thread, since
 * few of them live on: those of workflows and of texts that are redacted.
 */
export function limitHeapGrowth(): void {
  setFlagsFromString(`--heap-growing-percent=${growth}`);
  setFlagsFromString(`--max-semi-space-size=${threadSemiSpace}`);
}
