import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { newId } from '#domain/foundation/kernel/ids.ts';
import type { HistoryPart, HistoryPlace } from '#domain/operations/workflows/workflow-reader.ts';
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
    const history = await createWorkflowReader(client).historyOf(workflowId, null);
    expect(history?.events[0]).toMatchObject({
      eventId: '1',
      eventType: 'EVENT_TYPE_WORKFLOW_EXECUTION_STARTED',
    });
  });

  it('is a long history in parts of few bytes, each of which leads to the next', async () => {
    const long = `document/${newId()}/${newId()}`;
    const args = [{ tenantId: newId(), documentId: newId() }];
    const handle = await client.workflow.start('ingestDocument', {
      workflowId: long,
      taskQueue: 'nobody-polls',
      args,
    });
    const signals = 450;
    for (let sent = 0; sent < signals; sent += 1) await handle.signal('more', 'x'.repeat(200));
    const reader = createWorkflowReader(client, 50_000);
    const ids: number[] = [];
    let from: HistoryPlace | null = null;
    let parts = 0;
    do {
      const part: HistoryPart | null = await reader.historyOf(long, from);
      const events = part!.events as { eventId: string }[];
      expect(JSON.stringify(events).length).toBeLessThan(60_000);
      ids.push(...events.map(({ eventId }) => Number(eventId)));
      from = part!.next;
      parts += 1;
    } while (from !== null);
    expect(parts).toBeGreaterThan(2);
    expect(ids).toEqual(Array.from({ length: ids.length }, (_, index) => index + 1));
    expect(ids.length).toBeGreaterThanOrEqual(signals + 1);
    const whole = await createWorkflowReader(client).historyOf(long, null);
    expect(whole).toMatchObject({ next: null });
    expect(whole!.events).toHaveLength(ids.length);
    expect(await reader.historyOf(long, { runId: newId(), afterEvent: 0 })).toBeNull();
    const theirs = await client.workflow.getHandle(workflowId).describe();
    expect(await reader.historyOf(long, { runId: theirs.runId, afterEvent: 0 })).toBeNull();
  });

  it('is nothing for an id that it does not know', async () => {
    const reader = createWorkflowReader(client);
    expect(await reader.describe('document/none')).toBeNull();
    expect(await reader.historyOf('document/none', null)).toBeNull();
  });

  it('is unavailable while Temporal is away', async () => {
    const away = connectLazily({ address: '127.0.0.1:1', namespace: 'default' });
    const answer = createWorkflowReader(away).describe(workflowId);
    await expect(answer).rejects.toMatchObject({ code: 'engine_unavailable', detail: { retryAfter: 1 } });
    await away.connection.close();
  }, 15_000);
});
