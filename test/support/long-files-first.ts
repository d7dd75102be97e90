import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Folders whose files take longest, however short they are. */
const long = /\/test\/(kill|bench|launcher|first-run|e2e)\//;

/** Without figures of an earlier run the largest file would come first, and a short file that runs long last. */
export class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const rank = ({ moduleId }: TestSpecification) => (long.test(moduleId) ? 0 : 1);
    return sorted.toSorted((a, b) => rank(a) - rank(b));
  }
}
