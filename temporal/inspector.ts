import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import type { WorkflowInspector } from '#domain/kernel/workflow-inspector.ts';

export function createInspector(client: Client): WorkflowInspector {
  return {
    async stateOf(workflowId) {
      try {
        const { status } = await client.workflow.getHandle(workflowId).describe();
        return status.name === 'RUNNING' ? 'running' : 'closed';
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) {
          return 'unknown_id';
        }
        throw error;
      }
    },
  };
}
