import { countThreadMs } from './thread-time.ts';

/**
 * Runs work and says for how many milliseconds it calculated at most between two turns of the event loop: the processor
 * time of this thread, since on a busy machine a thread also waits for others.
 */
export async function maxPause(work: () => Promise<unknown>): Promise<number> {
  let [turn, longest] = [countThreadMs(), 0];
  const look = () => {
    longest = Math.max(longest, turn());
    turn = countThreadMs();
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
