import { expect, it } from 'vitest';
import { sweepNames } from '#domain/operations/maintenance/sweeps.ts';
import { upkeepOptions } from '#temporal/upkeep-options.ts';

it('has a slot for each sweep: one that is slow delays no other', () => {
  expect(upkeepOptions.maxConcurrentActivityTaskExecutions).toBeGreaterThanOrEqual(sweepNames.length);
});
