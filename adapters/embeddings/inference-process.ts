import { endWithParent } from '../process/end-with-parent.ts';
import { disableTelemetry } from './disable-telemetry.ts';
import infer, { type InferenceTask } from './inference-thread.ts';

endWithParent();
disableTelemetry();
// One after another: the next text is here before the one before it is done.
let last: Promise<unknown> = Promise.resolve();
process.on('message', (task: InferenceTask) => {
  last = last.then(async () => process.send?.(await infer(task)));
});
