/** Of a gateway or a worker; the Dockerfile sets the same. Without them it keeps more memory than it uses. */
export const memorySettings = {
  // Several malloc arenas leave much of each unused, and little of that is returned to the system.
  MALLOC_ARENA_MAX: '1',
  // Bytes from which on a buffer is returned at once. Otherwise glibc raises the limit, up to 32 MiB, with each large
  // buffer that is freed, and the memory of later buffers is not returned while a small object behind them lives.
  MALLOC_MMAP_THRESHOLD_: '131072',
  // Of each thread. V8 lets new objects fill 128 MiB otherwise, whenever many are made at once, and keeps the memory.
  NODE_OPTIONS: '--max-semi-space-size=16',
};
