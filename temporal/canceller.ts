import type { Client } from '@temporalio/client';
import type { WorkflowCanceller } from '#domain/foundation/durable/workflow-canceller.ts';
import type { WorkflowStarter } from '#domain/foundation/durable/workflow-starter.ts';
import { sendCancel, sendStart } from './send-message.ts';

export function createCanceller(client: Client): WorkflowCanceller {
  return { cancel: (workflowId) => sendCancel(client, { workflowId }) };
}

export function createStarter(client: Client): WorkflowStarter {
  return {
    start: async (message) => {
      await sendStart(client, message);
    },
  };
}
