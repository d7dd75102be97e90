import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { connectLazily } from '#temporal/client.ts';
import { createWorkflowReader } from '#temporal/workflow-reader.ts';

let connection: Connection;
let client: Client;
const workflowId = `document/${newId()}/${newId()}`;

beforeAll(async () => {
  const { address, namespace } = inject('temporal');
  connection = await Connection.connect({ address });
  client = new Client({ connection, namespace });
  await client.workflow.start('ingestDocument', {
    workflowId,
    taskQueue: 'nobody-polls',
    args: [{ tenantId: newId(), documentId: newId() }],
  });
});
afterAll(() => connection?.close());

describe('Temporal’s view of a workflow', () => {
  it('is its newest run', async () => {
    expect(await createWorkflowReader(client).describe(workflowId)).toMatchObject({
      type: 'ingestDocument',
      status: 'RUNNING',
      taskQueue: 'nobody-polls',
      closedAt: null,
      pending: [],
    });
  });

  it('is its history, as Temporal’s own tools read it', async () => {
    const history = await createWorkflowReader(client).historyOf(workflowId);
    expect(history?.events[0]).toMatchObject({
      eventId: '1',
      eventType: 'EVENT_TYPE_WORKFLOW_EXECUTION_STARTED',
    });
  });

  it('is nothing for an id that it does not know', async () => {
    const reader = createWorkflowReader(client);
    expect(await reader.describe('document/none')).toBeNull();
    expect(await reader.historyOf('document/none')).toBeNull();
  });

  it('is unavailable while Temporal is away', async () => {
    const away = connectLazily({ address: '127.0.0.1:1', namespace: 'default' });
    const answer = createWorkflowReader(away).describe(workflowId);
    await expect(answer).rejects.toMatchObject({ code: 'engine_unavailable', detail: { retryAfter: 1 } });
    await away.connection.close();
  }, 15_000);
});
