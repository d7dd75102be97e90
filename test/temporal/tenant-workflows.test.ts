import type { Client } from '@temporalio/client';
import { expect, it } from 'vitest';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { createTenantWorkflows } from '#temporal/tenant-workflows.ts';

/** A Temporal whose list shows a few histories at a time, and each of them for a while after its deletion. */
function slowClient({ histories, shown }: { histories: number; shown: number }): Client {
  const left = Array.from({ length: histories }, (_, n) => ({ workflowId: `w${n}`, runId: `r${n}` }));
  const gone = new Set<string>();
  return {
    options: { namespace: 'test' },
    workflow: {
      list: async function* () {
        const listed = left.slice(0, shown);
        yield* listed;
        left.splice(0, listed.filter(({ runId }) => gone.has(runId)).length);
      },
    },
    workflowService: {
      deleteWorkflowExecution: async (request: { workflowExecution: { runId: string } }) => {
        gone.add(request.workflowExecution.runId);
      },
    },
  } as unknown as Client;
}

it('deletes histories for as long as there is progress, and not much longer', async () => {
  const patience = { listedForMs: 100, lookEveryMs: 30 };
  const slow = createTenantWorkflows(slowClient({ histories: 20, shown: 2 }), patience);
  expect(await slow.deleteClosed(newId())).toBe(20);
  const stuck = { workflowId: 'w', runId: 'r' };
  const client = slowClient({ histories: 0, shown: 0 });
  Object.assign(client.workflow, {
    list: async function* () {
      yield stuck;
    },
  });
  expect(await createTenantWorkflows(client, patience).deleteClosed(newId())).toBe(1);
});
