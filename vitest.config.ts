import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { memorySettings } from './bin/launcher/memory-settings.ts';
import { RunningFileReporter } from './test/support/running-file-reporter.ts';

// Every file loads much the same packages: compiled once, also for the processes that tests start.
process.env['NODE_COMPILE_CACHE'] ??= join(tmpdir(), 'node-compile-cache');
// The more memory a process has, the longer each start of a child blocks it.
process.env['MALLOC_ARENA_MAX'] ??= memorySettings.MALLOC_ARENA_MAX;

/** Files that the other processes run in about the time of one kill suite. */
const filesBetween = 25;

/**
 * The kill suites wait more than they work: left to the end they would wait alone, and side by side their servers would
 * wait for the machine. So each begins when the one before it is about to end.
 */
class KillsApart extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const waits = ({ moduleId }: TestSpecification) => moduleId.includes('/test/kill/');
    const sorted = await super.sort(files);
    const others = sorted.filter((file) => !waits(file));
    return sorted
      .filter(waits)
      .flatMap((suite) => [suite, ...others.splice(0, filesBetween)])
      .concat(others);
  }
}

const inCi = process.env['CI'] !== undefined;

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    setupFiles: ['test/support/machine-slot.ts'],
    // The Temporal SDK is native code, and tests signal processes: no threads. Three processes share the files, so that
    // each loads what most files need once.
    pool: 'forks',
    isolate: false,
    // Node runs everything here as it is: nothing has to be transformed, and what it has compiled stays cached.
    experimental: { viteModuleRunner: false },
    maxWorkers: 3,
    sequence: { sequencer: KillsApart },
    // A machine that runs other things, too, may take its time; what never comes fails all the same.
    testTimeout: 180_000,
    expect: { poll: { timeout: 15_000 } },
    hookTimeout: 180_000,
    teardownTimeout: 30_000,
    reporters: [inCi ? 'verbose' : 'default', new RunningFileReporter()],
  },
});
