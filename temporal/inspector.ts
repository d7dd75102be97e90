import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import type { WorkflowInspector } from '#domain/foundation/durable/workflow-inspector.ts';

export function createInspector(client: Client): WorkflowInspector {
  return {
    async stateOf(workflowId) {
      try {
        // Not by status: several statuses mean that the workflow is open, and a later server may add others.
        const { closeTime } = await client.workflow.getHandle(workflowId).describe();
        return closeTime === undefined ? 'open' : 'closed';
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) {
          return 'unknown_id';
        }
        throw error;
      }
    },
    async openAmong(workflowIds) {
      const open = new Set<string>();
      if (workflowIds.length > 0) {
        const ids = workflowIds.map((id) => `'${id.replaceAll("'", "''")}'`).join(', ');
        const query = `CloseTime is null and WorkflowId in (${ids})`;
        for await (const { workflowId } of client.workflow.list({ query, pageSize: workflowIds.length })) {
          open.add(workflowId);
        }
      }
      return open;
    },
  };
}
