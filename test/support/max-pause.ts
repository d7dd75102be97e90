/** Runs work and says for how many milliseconds it held the event loop at most. */
export async function maxPause(work: () => Promise<unknown>): Promise<number> {
  let [last, longest] = [performance.now(), 0];
  const look = () => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
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
