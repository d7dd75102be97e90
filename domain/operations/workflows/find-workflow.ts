import { validate } from 'uuid';
import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { parseWorkflowId, type WorkflowType } from '#domain/foundation/durable/workflow-types.ts';
import { Document } from '#domain/knowledge/collections/document.entity.ts';
import { Connector } from '#domain/knowledge/connectors/connector.entity.ts';
import { SyncRun } from '#domain/knowledge/connectors/sync-run.entity.ts';
import { notFound } from '#domain/foundation/kernel/errors.ts';
import { McpServer } from '#domain/capabilities/tools/mcp-server.entity.ts';
import { Response } from '#domain/responses/record/response.entity.ts';

/** A workflow's address and the state of the platform's own row. */
export interface FoundWorkflow {
  workflowId: string;
  kind: 'response' | 'document' | 'mcp_server' | 'connector' | 'sync_run';
  tenantId: string;
  resourceId: string;
  resourceStatus: string;
  failureCode: string | null;
}

/** The kind of resource of each workflow type; null if `findWorkflow` looks up no row for it. */
const kinds = {
  generateResponse: 'response',
  traceResponse: 'response',
  ingestDocument: 'document',
  embedSpace: null,
  runConnector: 'connector',
  syncConnector: 'sync_run',
  discoverTools: 'mcp_server',
  fanOutEvent: null,
  deleteTenant: null,
  eraseScope: null,
  runSweep: null,
} satisfies Record<WorkflowType, FoundWorkflow['kind'] | null>;

/** Parses an id as Temporal UI shows it. @throws `workflow_not_found` for any other form */
export function readWorkflowId(workflowId: string): Pick<FoundWorkflow, 'kind' | 'tenantId' | 'resourceId'> {
  const { type, parts } = parseWorkflowId(workflowId) ?? {};
  const [tenantId = '', resourceId = '', ...rest] = parts ?? [];
  const kind = type === undefined ? null : kinds[type];
  const numbered = kind === 'mcp_server' ? /^\d{1,9}$/.test(rest.join('/')) : rest.length === 0;
  if (kind === null || !validate(tenantId) || !numbered) {
    throw notFound('workflow_not_found');
  }
  return { kind, tenantId, resourceId };
}

/**
 * The row of a workflow, in the tenant that its id names. Without a row, Temporal is not asked.
 * @throws `missing_permission`, `workflow_not_found`
 */
export async function findWorkflow(ctx: Context, workflowId: string): Promise<FoundWorkflow> {
  authorize(ctx.caller, 'workflows.read');
  const { kind, tenantId, resourceId } = readWorkflowId(workflowId);
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
  if (kind === 'mcp_server') {
    const server = validate(id) ? await ctx.em.findOne(McpServer, { id }) : null;
    return server && { resourceStatus: server.status, failureCode: server.lastError ?? null };
  }
  if (kind === 'connector') {
    const connector = validate(id) ? await ctx.em.findOne(Connector, { id }) : null;
    return connector && { resourceStatus: connector.status, failureCode: connector.statusReason ?? null };
  }
  if (kind === 'sync_run') {
    const run = validate(id) ? await ctx.em.findOne(SyncRun, { id }) : null;
    return run && { resourceStatus: run.status, failureCode: run.errorCode ?? null };
  }
  const document = validate(id) ? await ctx.em.findOne(Document, { id }) : null;
  return document && { resourceStatus: document.status, failureCode: document.failureCode ?? null };
}
