const GRACE_MS = 8000;

/**
 * Ends this process when its standard input closes, which is how a child notices that its parent was killed. Does
 * nothing unless EXIT_WITH_PARENT is 1. The process sends SIGTERM to itself, so the ordinary drain runs; a drain that
 * hangs is aborted after 8 s.
 */
export function exitWithParent(): void {
  if (process.env['EXIT_WITH_PARENT'] !== '1') return;
  let ending = false;
  const end = (): void => {
    if (ending) return;
    ending = true;
    process.kill(process.pid, 'SIGTERM');
    setTimeout(() => process.exit(1), GRACE_MS).unref();
  };
  process.stdin.on('end', end).on('close', end).on('error', end);
  process.stdin.resume();
  // The listener alone must not keep a drained process running.
  if ('unref' in process.stdin && typeof process.stdin.unref === 'function') process.stdin.unref();
}
