import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { workflows, workflowIdOf, type WorkflowType } from '#domain/foundation/durable/workflow-types.ts';
import type { TenantWorkflows } from '#domain/operations/tenant-deletion/tenant-workflows.ts';
import { createInspector } from './inspector.ts';
import { isUnknown } from './is-unknown.ts';
import { sendCancel } from './send-message.ts';

/** Deletions are done by the server in the background; its list follows within seconds. */
const patience = { listedForMs: 20_000, lookEveryMs: 250 };
/** One call ends after this time in any case: what is left then is found by the verification. */
const deletingMs = 1_200_000;
const page = 500;
/** Workflows that are asked for at a time. */
const askedAtOnce = 20;

/**
 * Finds workflows by the tenant in their ids: children of workflows have no search attribute of their own.
 * @param patience how long a deletion of histories goes on without progress
 */
export function createTenantWorkflows(
  client: Client,
  { listedForMs, lookEveryMs } = patience,
): TenantWorkflows {
  const inspector = createInspector(client);
  const list = async (query: string, limit: number) => {
    const found: { workflowId: string; runId: string }[] = [];
    for await (const { workflowId, runId } of client.workflow.list({
      query,
      pageSize: Math.min(limit, page),
    })) {
      found.push({ workflowId, runId });
      if (found.length >= limit) {
        break;
      }
    }
    return found;
  };
  return {
    listOpen: async (tenantId, limit) => {
      const open = await list(`ExecutionStatus = 'Running' and (${ofTenant(tenantId)})`, limit);
      return [...new Set(open.map(({ workflowId }) => workflowId))];
    },
    openOf: async (ids) => {
      const open: string[] = [];
      for (let at = 0; at < ids.length; at += askedAtOnce) {
        const some = ids.slice(at, at + askedAtOnce);
        const states = await Promise.all(some.map((id) => inspector.stateOf(id)));
        open.push(...some.filter((_, n) => states[n] === 'open'));
      }
      return open;
    },
    cancel: (workflowId) => sendCancel(client, { workflowId }),
    terminate: (workflowId) => ignoreGone(client.workflow.getHandle(workflowId).terminate('tenant deleted')),
    deleteClosed: async (tenantId) => {
      const deleted = new Set<string>();
      const end = performance.now() + deletingMs;
      let progressAt = performance.now();
      let fewest = Infinity;
      for (;;) {
        const listed = await list(ofTenant(tenantId), page);
        const before = deleted.size;
        for (const { workflowId, runId } of listed) {
          if (!deleted.has(runId)) {
            await ignoreGone(
              client.workflowService.deleteWorkflowExecution({
                namespace: client.options.namespace,
                workflowExecution: { workflowId, runId },
              }),
            );
            deleted.add(runId);
          }
        }
        if (deleted.size > before || listed.length < fewest) {
          progressAt = performance.now();
        }
        fewest = Math.min(fewest, listed.length);
        const now = performance.now();
        if (listed.length === 0 || now > progressAt + listedForMs || now > end) {
          return deleted.size;
        }
        await sleep(lookEveryMs);
      }
    },
    countListed: async (tenantId) => (await client.workflow.count(ofTenant(tenantId))).count,
  };
}

const prefixes = (Object.keys(workflows) as WorkflowType[])
  .filter((type) => type !== 'deleteTenant' && type !== 'runSweep')
  .map((type) => workflows[type].prefix);

/** @param tenantId a UUID: it is a part of the query */
function ofTenant(tenantId: string): string {
  if (!/^[0-9a-f-]{36}$/.test(tenantId)) {
    throw new Error('The id of a tenant is a UUID.');
  }
  const own = workflowIdOf('deleteTenant', { tenantId });
  const started = prefixes.map((prefix) => `WorkflowId STARTS_WITH '${prefix}/${tenantId}/'`);
  return `(${started.join(' or ')} or TenantId = '${tenantId}') and WorkflowId != '${own}'`;
}

/** A workflow that is gone already is as if this had ended or deleted it. */
async function ignoreGone(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!isUnknown(error)) {
      throw error;
    }
  }
}
