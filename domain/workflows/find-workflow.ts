import { validate } from 'uuid';
import type { Context } from '#domain/access/context.ts';
import { authorize } from '#domain/access/policy.ts';
import { Document } from '#domain/collections/document.entity.ts';
import { notFound } from '#domain/kernel/errors.ts';
import { Response } from '#domain/responses/response.entity.ts';

/** A workflow's address and how the platform's own row of it stands. */
export interface FoundWorkflow {
  workflowId: string;
  kind: 'response' | 'document';
  tenantId: string;
  resourceId: string;
  resourceStatus: string;
  failureCode: string | null;
}

/** `<kind>/<tenant_id>/<id>`, as they stand in Temporal UI. @throws `workflow_not_found` for any other form */
export function parseWorkflowId(workflowId: string): Pick<FoundWorkflow, 'kind' | 'tenantId' | 'resourceId'> {
  const [kind, tenantId = '', resourceId = '', ...rest] = workflowId.split('/');
  if ((kind !== 'response' && kind !== 'document') || !validate(tenantId) || rest.length > 0) {
    throw notFound('workflow_not_found');
  }
  return { kind, tenantId, resourceId };
}

/**
 * The row that a workflow works for, in the tenant that its id names: what is not there is not asked of the
 * engine, whatever the engine may know. @throws `missing_permission`, `workflow_not_found`
 */
export async function findWorkflow(ctx: Context, workflowId: string): Promise<FoundWorkflow> {
  authorize(ctx.caller, 'workflows.read');
  const { kind, tenantId, resourceId } = parseWorkflowId(workflowId);
  const row = tenantId === ctx.caller.tenantId ? await findRow(ctx, kind, resourceId) : null;
  if (row === null) {
    throw notFound('workflow_not_found');
  }
  return { workflowId, kind, tenantId, resourceId, ...row };
}

async function findRow(
  ctx: Context,
  kind: FoundWorkflow['kind'],
  id: string,
): Promise<Pick<FoundWorkflow, 'resourceStatus' | 'failureCode'> | null> {
  if (kind === 'response') {
    const response = await ctx.em.findOne(Response, { id });
    return response && { resourceStatus: response.status, failureCode: response.failure?.code ?? null };
  }
  const document = validate(id) ? await ctx.em.findOne(Document, { id }) : null;
  return document && { resourceStatus: document.status, failureCode: document.failureCode ?? null };
}
