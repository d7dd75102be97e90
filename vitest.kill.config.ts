import { defineConfig } from 'vitest/config';

/** The long form of the kill suite: `npm run test:kill`, with SEED=<n> to repeat a run. */
export default defineConfig({
  test: {
    include: ['test/kill/*.kill.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    pool: 'forks',
    maxWorkers: 1,
    hookTimeout: 120_000,
    teardownTimeout: 60_000,
    reporters: ['verbose'],
    disableConsoleIntercept: true,
  },
});
