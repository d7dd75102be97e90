import { workflowHistory, workflowRecord } from '#api/contract/administration.ts';
import { workflowHistoryInput, workflowInput } from '#api/contract/procedures.ts';
import { presentWorkflow } from '#api/present/inspection.ts';
import { whileConnected } from '#api/while-connected.ts';
import { DomainError, notFound } from '#domain/foundation/kernel/errors.ts';
import {
  findWorkflow,
  readWorkflowId,
  type FoundWorkflow,
} from '#domain/operations/workflows/find-workflow.ts';
import { readHistoryCursor, toHistoryCursor } from '#domain/operations/workflows/history-cursor.ts';
import { inTenantOf } from './acting.ts';
import { procedure, reads, router, type CallContext } from './trpc.ts';

export const workflows = router({
  describe: procedure({ permission: 'workflows.read', audit: reads })
    .input(workflowInput)
    .output(workflowRecord)
    .query(async ({ ctx, input }) => {
      const found = await find(ctx, input.workflow_id);
      return { data: presentWorkflow(found, await ctx.deps.workflows.describe(found.workflowId)) };
    }),

  history: procedure({ permission: 'workflows.read', audit: reads })
    .input(workflowHistoryInput)
    .output(workflowHistory)
    .query(async ({ ctx, input }) => {
      const { workflowId } = await find(ctx, input.workflow_id);
      const { deps, request } = ctx;
      const { tenantId } = request.identity;
      const of = { tenantId, workflowId };
      const from = input.cursor == null ? null : readHistoryCursor(deps.secrets, of, input.cursor);
      const part = await whileConnected(request, (left) =>
        deps.historyPlaces.run(tenantId, left, () => deps.workflows.historyOf(workflowId, from)),
      );
      if (part === null) {
        throw notFound('workflow_not_found');
      }
      const { events, next } = part;
      const cursor = next === null ? null : toHistoryCursor(deps.secrets, of, next);
      return { data: { workflow_id: workflowId, history: { events }, next_cursor: cursor } };
    }),
});

/** The tenant comes from the id; a workflow of another tenant answers like an unknown one. */
async function find(call: CallContext, workflowId: string): Promise<FoundWorkflow> {
  const { tenantId } = readWorkflowId(workflowId);
  try {
    return await inTenantOf(call, tenantId, (ctx) => findWorkflow(ctx, workflowId));
  } catch (error) {
    throw error instanceof DomainError && error.code === 'tenant_not_found'
      ? notFound('workflow_not_found')
      : error;
  }
}
