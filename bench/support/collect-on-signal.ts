/**
 * Loaded into a process whose memory is measured: counts live memory, not garbage that waits for collection.
 */
// Not a signal that asks a process to stop or to dump.
process.on('SIGWINCH', () => globalThis.gc?.());
