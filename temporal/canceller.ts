import type { Client } from '@temporalio/client';
import type { WorkflowCanceller } from '#domain/foundation/durable/workflow-canceller.ts';
import { sendCancel } from './send-message.ts';

export function createCanceller(client: Client): WorkflowCanceller {
  return { cancel: (workflowId) => sendCancel(client, { workflowId }) };
}
