import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { createInspector } from '#temporal/inspector.ts';

let client: Client;
beforeAll(async () => {
  const { address, namespace } = inject('temporal');
  client = new Client({ connection: await Connection.connect({ address }), namespace });
});
afterAll(() => client?.connection.close());

/** A workflow that no worker runs. */
async function start(prefix: string): Promise<string> {
  const workflowId = `${prefix}/it's/${randomUUID()}`;
  await client.workflow.start('generateResponse', { workflowId, taskQueue: 'nobody', args: [] });
  return workflowId;
}

async function pause(workflowId: string): Promise<void> {
  const { namespace } = inject('temporal');
  const reason = 'looked at by an operator';
  await client.workflowService.pauseWorkflowExecution({
    namespace,
    workflowId,
    reason,
    requestId: workflowId,
  });
}

it('distinguishes open, paused, closed and unknown workflows', async () => {
  const inspector = createInspector(client);
  const [open, paused, closed] = [await start('response'), await start('response'), await start('response')];
  await pause(paused);
  await client.workflow.getHandle(closed).terminate();
  const unknown = `response/${randomUUID()}`;
  expect((await client.workflow.getHandle(paused).describe()).status.name).toBe('PAUSED');
  const all = [open, paused, closed, unknown];
  expect(await Promise.all(all.map((id) => inspector.stateOf(id)))).toEqual([
    'open',
    'open',
    'closed',
    'unknown_id',
  ]);
  await expect
    .poll(async () => [...(await inspector.openAmong(all))].toSorted(), { timeout: 10_000 })
    .toEqual([open, paused].toSorted());
  expect(await inspector.openAmong([])).toEqual(new Set());
});

it('lists a whole page of them at once', async () => {
  const ids = await Promise.all(Array.from({ length: 200 }, () => start(`response/${randomUUID()}`)));
  const inspector = createInspector(client);
  await expect.poll(async () => (await inspector.openAmong(ids)).size, { timeout: 10_000 }).toBe(200);
});
