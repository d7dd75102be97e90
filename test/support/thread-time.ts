/** @returns the processor time of this thread alone since this call, in milliseconds, whenever it is asked for */
export function countThreadMs(): () => number {
  const before = process.threadCpuUsage();
  return () => {
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / 1_000;
  };
}
