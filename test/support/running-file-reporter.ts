import type { Reporter, TestModule } from 'vitest/node';

/** Says which file begins, so that a run that hangs shows where. */
export class RunningFileReporter implements Reporter {
  onTestModuleStart(testModule: TestModule): void {
    if (!process.stdout.isTTY) process.stdout.write(`▶ ${testModule.relativeModuleId}\n`);
  }
}
