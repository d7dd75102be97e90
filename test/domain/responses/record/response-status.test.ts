import { describe, expect, it } from 'vitest';
import { canBecome, isTerminal, responseStatuses } from '#domain/responses/record/response-status.ts';

/** Written by hand from the specification, not from the code. */
const allowed: readonly string[] = [
  'queued → in_progress',
  'queued → failed',
  'queued → cancelled',
  'in_progress → completed',
  'in_progress → incomplete',
  'in_progress → failed',
  'in_progress → cancelled',
];

describe('the status machine', () => {
  const pairs = responseStatuses.flatMap((from) => responseStatuses.map((to) => ({ from, to })));

  it.each(pairs)('rules on $from to $to', ({ from, to }) => {
    expect(canBecome(from, to)).toBe(allowed.includes(`${from} → ${to}`));
  });

  it('has four ends', () => {
    expect(responseStatuses.filter(isTerminal)).toEqual(['completed', 'incomplete', 'failed', 'cancelled']);
  });
});
