/** Loaded into a process whose memory is measured: what counts is what lives, not what waits for its collection. */
// Not one of the signals that ask a process to stop or to dump.
process.on('SIGWINCH', () => globalThis.gc?.());
