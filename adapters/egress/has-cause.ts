/** Whether an error, or one that caused it, `holds`. Clients wrap what was thrown below them. */
export function hasCause(error: unknown, holds: (error: Error) => boolean): boolean {
  if (!(error instanceof Error)) {
    return false;
  }
  const inner = error instanceof AggregateError ? (error.errors as unknown[]) : [];
  return holds(error) || hasCause(error.cause, holds) || inner.some((each) => hasCause(each, holds));
}
