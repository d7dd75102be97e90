import { isMainThread } from 'node:worker_threads';
import { armFailpoint, type Failpoint } from '#domain/foundation/kernel/failpoint.ts';

/** Loaded before the code of a process under test, which a message from the test then arms. */
if (isMainThread) {
  process.on('message', ({ failpoint, skip }: { failpoint: Failpoint; skip: number }) => {
    armFailpoint(failpoint, skip);
    process.send!('armed');
  });
  // It does not keep an ending process alive.
  process.channel!.unref();
}
