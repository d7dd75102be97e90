import type { StartMessage } from './messages.ts';

/** Starts workflows of which no tenant's outbox can carry the message, because the tenant may be gone. */
export interface WorkflowStarter {
  /** Does nothing if the workflow is running. */
  start(message: StartMessage): Promise<void>;
}
