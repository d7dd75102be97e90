/** Without the rights of the superuser, who may read everything; other users have none to give up. */
export async function asAnybody<T>(work: () => Promise<T>): Promise<T> {
  if (process.geteuid?.() !== 0) {
    return work();
  }
  const nobody = 65_534;
  process.setegid?.(nobody);
  process.seteuid?.(nobody);
  try {
    return await work();
  } finally {
    process.seteuid?.(0);
    process.setegid?.(0);
  }
}
