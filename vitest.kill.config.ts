import { defineConfig } from 'vitest/config';

/**
 * The long forms: `npm run test:kill`, with SEED=<n> to repeat a run, `npm run test:rounds`, `test:hostile` and
 * `test:clients`; and
 * `npm run record:baseline`.
 */
export default defineConfig({
  test: {
    include: ['test/kill/*.kill.ts', 'test/{clients,hostile,rounds}/*.long.ts', 'test/upgrade/*.record.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    pool: 'forks',
    maxWorkers: 1,
    hookTimeout: 120_000,
    teardownTimeout: 60_000,
    reporters: ['verbose'],
    disableConsoleIntercept: true,
  },
});
