import type { EventRun } from '#domain/responses/record/stream-events.ts';

/** No event may be skipped, so nothing behind it is shown. */
export class StreamGap extends Error {
  constructor() {
    super('The stored stream has a gap.');
  }
}

/** Event lines with a number above `after`; runs are in order. @throws StreamGap */
export function linesAfter(runs: readonly EventRun[], after: number): string[] {
  const lines: string[] = [];
  let last = after;
  for (const run of runs) {
    const end = run.firstN + run.n - 1;
    if (run.firstN > last + 1) {
      throw new StreamGap();
    }
    if (end > last) {
      lines.push(...run.events.split('\n').slice(last + 1 - run.firstN));
      last = end;
    }
  }
  return lines;
}
