import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { RunningFileReporter } from './test/support/running-file-reporter.ts';

// Every file loads much the same packages: compiled once, also for the processes that tests start.
process.env['NODE_COMPILE_CACHE'] ??= join(tmpdir(), 'node-compile-cache');

const inCi = process.env['CI'] !== undefined;

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    // Each file in a process of its own: tests kill and signal processes, and the Temporal SDK is native code.
    pool: 'forks',
    maxWorkers: 3,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    teardownTimeout: 30_000,
    reporters: [inCi ? 'verbose' : 'default', new RunningFileReporter()],
  },
});
