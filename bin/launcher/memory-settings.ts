/** Of a gateway or a worker; the Dockerfile sets the same. Without them it keeps more memory than it uses. */
export const memorySettings = {
  // One malloc arena for each of many threads leaves much of it unused, and none of that is returned to the system.
  MALLOC_ARENA_MAX: '2',
  // Of each thread. V8 lets new objects fill 128 MiB otherwise, whenever many are made at once, and keeps the memory.
  NODE_OPTIONS: '--max-semi-space-size=16',
};
