/**
 * A reason to end the start that its user can act on: one sentence, and where useful the last lines of a log.
 */
export class LaunchError extends Error {
  readonly detail: readonly string[];

  constructor(sentence: string, detail: readonly string[] = []) {
    super(sentence);
    this.name = 'LaunchError';
    this.detail = detail;
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
