/** Runs a task of a process again when the error may have had another reason than the task. */
export function onceMore<T>(run: () => Promise<T>, isRepeatable: (error: unknown) => boolean): Promise<T> {
  return run().catch((error: unknown) => {
    if (isRepeatable(error)) return run();
    throw error;
  });
}
