import type { Reporter, TestModule } from 'vitest/node';

/** Prints which file begins, so that a hanging run shows where, and ends with a plain summary line. */
export class RunningFileReporter implements Reporter {
  onTestModuleStart(testModule: TestModule): void {
    if (!process.stdout.isTTY) process.stdout.write(`▶ ${testModule.relativeModuleId}\n`);
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const count = (state: string) => tests.filter((test) => test.result().state === state).length;
    process.once('exit', () => {
      process.stdout.write(
        `${count('passed')} passed, ${count('failed')} failed, ${count('skipped')} skipped\n`,
      );
    });
  }
}
