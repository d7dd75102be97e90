import { NativeConnection, Worker } from '@temporalio/worker';
import pino from 'pino';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { createTelemetry } from '#adapters/telemetry/metrics.ts';
import { start as startOf } from '#domain/foundation/durable/messages.ts';
import { enqueue } from '#domain/foundation/durable/outbox.ts';
import { taskQueues } from '#domain/foundation/durable/task-queues.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { createDispatcher } from '#temporal/dispatcher.ts';
import type { IngestDocumentInput } from '#workflows/ingest-document/messages.ts';
import { silenceRuntime } from '../replay/quiet.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { createWorld, type World } from '../support/world.ts';

let database: TestDatabase;
let stack: Stack;

beforeAll(async () => {
  silenceRuntime();
  database = await createTestDatabase();
  stack = await startStack({ database, gateways: 0, workers: 0 });
});
afterAll(async () => {
  await stack?.stop();
  await database?.drop();
});

it('a tenant’s backlog does not delay another tenant until its end', async () => {
  const [busy, other] = [await createWorld(database.unitOfWork), await createWorld(database.unitOfWork)];
  const dispatcher = createDispatcher({
    client: stack.temporal,
    database: database.database,
    metrics: createTelemetry(),
    logger: pino({ level: 'silent' }),
  });
  const start = async ({ tenantId }: World) => {
    const documentId = newId();
    const row = await database.unitOfWork.inTenant(tenantId, (em) =>
      enqueue(em, startOf('ingestDocument', { tenantId, documentId })),
    );
    await dispatcher.dispatch(row!);
    return row!.workflowId;
  };
  const ids: string[] = [];
  for (let i = 0; i < 30; i += 1) ids.push(await start(busy));
  for (let i = 0; i < 3; i += 1) ids.push(await start(other));

  const order: string[] = [];
  const connection = await NativeConnection.connect({ address: inject('temporal').address });
  const worker = await Worker.create({
    connection,
    namespace: stack.namespace,
    taskQueue: taskQueues.batch,
    workflowBundle: { codePath: inject('workflowBundle') },
    maxConcurrentActivityTaskExecutions: 1,
    maxConcurrentWorkflowTaskExecutions: 2,
    maxCachedWorkflows: 2,
    activities: {
      extractDocument: async ({ tenantId }: IngestDocumentInput) => {
        order.push(tenantId);
        return { status: 'ready', chunkCount: 0, failureCode: null };
      },
    },
  });
  try {
    await worker.runUntil(Promise.all(ids.map((id) => stack.temporal.workflow.getHandle(id).result())));
  } finally {
    await connection.close();
  }
  expect(order).toHaveLength(33);
  // Its three were started last, so in arrival order they would be last.
  expect(order.lastIndexOf(other.tenantId)).toBeLessThan(20);
});
