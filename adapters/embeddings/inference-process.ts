import { endWithParent } from '../process/end-with-parent.ts';
import infer, { type Inference, type InferenceTask } from './inference-thread.ts';

/** `failed`: the model does not take the text. */
export type InferenceMessage = Inference | { failed: true };

endWithParent();
process.on('message', (task: InferenceTask) => {
  void infer(task)
    .catch((): InferenceMessage => ({ failed: true }))
    .then((message) => process.send?.(message));
});
