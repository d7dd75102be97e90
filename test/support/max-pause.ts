/**
 * Runs work and says for how many milliseconds it calculated at most between two turns of the event loop: the processor
 * time of this thread, since on a busy machine a thread also waits for others.
 */
export async function maxPause(work: () => Promise<unknown>): Promise<number> {
  let [last, longest] = [threadMs(), 0];
  const look = () => {
    const now = threadMs();
    longest = Math.max(longest, now - last);
    last = now;
  };
  const timer = setInterval(look, 5);
  try {
    await work();
    look();
  } finally {
    clearInterval(timer);
  }
  return longest;
}

function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
