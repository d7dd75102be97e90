import { defineConfig } from 'vitest/config';

/** What docker-compose.yml runs, on this machine without containers: `npm run test:production`. */
export default defineConfig({
  test: {
    include: ['test/production/*.production.ts'],
    pool: 'forks',
    maxWorkers: 1,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    teardownTimeout: 60_000,
    reporters: ['verbose'],
  },
});
