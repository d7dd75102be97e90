import type { EntityManager } from '@mikro-orm/postgresql';
import type { RootType } from '#domain/foundation/durable/workflow-inputs.ts';
import { workflowIdOf } from '#domain/foundation/durable/workflow-types.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { haltTenant } from './halt-tenant.ts';
import type { TenantWorkflows } from './tenant-workflows.ts';

/** Workflows that are asked to end in one round, at least while so many are open. */
const roundSize = 500;

export interface StoppedWork {
  /** Open workflows that were asked to end. */
  open: number;
  /** Messages that Temporal has not received yet. */
  pending: number;
}

/**
 * One round of ending a tenant's work. Nothing runs any more when it returns zeros: then neither the rows of the tenant
 * name an open workflow, nor does Temporal list one, nor is a message on its way.
 * @param force ends workflows without waiting for their code
 */
export async function stopWork(
  { unitOfWork, workflows }: { unitOfWork: UnitOfWork; workflows: TenantWorkflows },
  tenantId: string,
  { force }: { force: boolean },
): Promise<StoppedWork> {
  await haltTenant(unitOfWork, tenantId);
  // Messages first: a message that is received after this look belongs to a workflow that the rows below name.
  const pending = await unitOfWork.inTenant(tenantId, (em) => dropMessages(em, tenantId, force));
  const end = async (ids: readonly string[]) => {
    const open = await workflows.openOf(ids);
    for (const workflowId of open) {
      await (force ? workflows.terminate(workflowId) : workflows.cancel(workflowId));
    }
    return open.length;
  };
  // What Temporal lists runs; of what the rows name most has ended, so all of it is looked at before this says zero.
  const listed = new Set(await workflows.listOpen(tenantId, roundSize));
  let open = await end([...listed]);
  let after: NamedWork | null = { kind: '', id: '' };
  while (after !== null && open < roundSize) {
    const place: NamedWork = after;
    const named = await unitOfWork.inTenant(tenantId, (em) => namedByRows(em, tenantId, place));
    open += await end(named.map((work) => workflowOf(tenantId, work)).filter((id) => !listed.has(id)));
    after = named.length < roundSize ? null : (named.at(-1) ?? null);
  }
  return { open, pending };
}

/**
 * `force` drops what no process sends at present, and what could not be sent for a while, even though its next try has
 * begun. That try may be received: the next round looks for its workflow.
 * @returns the number of messages that are left or were dropped now
 */
async function dropMessages(em: EntityManager, tenantId: string, force: boolean): Promise<number> {
  const ofOthers = [tenantId, 'deleteTenant'];
  const dropped = !force
    ? []
    : await em.execute<{ tried: boolean }[]>(
        `delete from outbox where tenant_id = ? and workflow_type <> ?
           and (claimed_until < now() or created_at < now() - interval '1 minute')
         returning claimed_until >= now() as tried`,
        ofOthers,
      );
  const [row] = await em.execute<{ n: number }[]>(
    'select count(*)::int as n from outbox where tenant_id = ? and workflow_type <> ?',
    ofOthers,
  );
  return dropped.filter(({ tried }) => tried).length + (row?.n ?? 0);
}

interface NamedWork {
  kind: string;
  id: string;
}

/** The next unfinished rows that wait for a workflow, in the order of kind and id. */
async function namedByRows(em: EntityManager, tenantId: string, after: NamedWork): Promise<NamedWork[]> {
  return em.execute<NamedWork[]>(
    `select kind, id from (
       select 'document' as kind, id::text from documents where tenant_id = ? and status = 'processing'
       union all select 'connector', id::text from connectors where tenant_id = ?
       union all select 'run', id::text from sync_runs where tenant_id = ? and status in ('queued', 'running')
       union all select 'event', event_id::text from fan_outs where tenant_id = ?
       union all select 'erasure', root_type || '/' || root_id from erasures where tenant_id = ? and ended_at is null
       union all select 'space', id::text from spaces where tenant_id = ?) as named
     where (kind collate "C", id collate "C") > (?, ?) order by kind collate "C", id collate "C" limit ?`,
    [tenantId, tenantId, tenantId, tenantId, tenantId, tenantId, after.kind, after.id, roundSize],
  );
}

function workflowOf(tenantId: string, { kind, id }: NamedWork): string {
  switch (kind) {
    case 'document':
      return workflowIdOf('ingestDocument', { tenantId, documentId: id });
    case 'connector':
      return workflowIdOf('runConnector', { tenantId, connectorId: id });
    case 'run':
      return workflowIdOf('syncConnector', { tenantId, runId: id });
    case 'erasure': {
      const [rootType, rootId = ''] = id.split('/');
      return workflowIdOf('eraseScope', { tenantId, rootType: rootType as RootType, rootId });
    }
    case 'event':
      return workflowIdOf('fanOutEvent', { tenantId, eventId: id });
    default:
      return workflowIdOf('embedSpace', { tenantId, spaceId: id });
  }
}
