/** The peak of this process's heap and the longest that its thread was blocked, while `work` ran. */
export async function burdenOf<T>(
  work: () => Promise<T>,
): Promise<{ result: T; megabytes: number; blockedMs: number }> {
  const used = () => process.memoryUsage().heapUsed / 1_048_576;
  const [before, began] = [used(), performance.now()];
  let [most, last, blockedMs] = [before, began, 0];
  const watch = setInterval(() => {
    most = Math.max(most, used());
    blockedMs = Math.max(blockedMs, performance.now() - last);
    last = performance.now();
  }, 5);
  const result = await work();
  clearInterval(watch);
  return {
    result,
    megabytes: Math.max(most, used()) - before,
    blockedMs: Math.max(blockedMs, performance.now() - last),
  };
}
