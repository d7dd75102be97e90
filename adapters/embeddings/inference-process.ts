import { endWithParent } from '../process/end-with-parent.ts';
import { disableTelemetry } from './disable-telemetry.ts';
import infer, { type InferenceTask } from './inference-thread.ts';

endWithParent();
disableTelemetry();
process.on('message', (task: InferenceTask) => {
  void infer(task).then((inference) => process.send?.(inference));
});
