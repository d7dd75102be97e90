/** Whether `holds` is true of an error or of any of its causes. Clients wrap what was thrown below them. */
export function hasCause(error: unknown, holds: (error: Error) => boolean): boolean {
  if (!(error instanceof Error)) {
    return false;
  }
  const inner = error instanceof AggregateError ? (error.errors as unknown[]) : [];
  return holds(error) || hasCause(error.cause, holds) || inner.some((each) => hasCause(each, holds));
}
