import { Connection, WorkflowClient, WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { NativeConnection, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createKnowledgeActivities } from '#activities/knowledge/create-knowledge-activities.ts';
import { createTextExtractor } from '#adapters/knowledge/text-extractor.ts';
import { createCollection } from '#domain/knowledge/collections/create-collection.ts';
import type { DocumentMediaType } from '#domain/knowledge/collections/document-status.ts';
import { uploadDocument } from '#domain/knowledge/collections/upload-document.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { silenceRuntime } from '#test/replay/quiet.ts';
import { openWorld, type KnowledgeWorld } from '#test/support/knowledge-world.ts';

let world: KnowledgeWorld;
let connection: Connection;
let native: NativeConnection;
let worker: Worker;
let running: Promise<void>;
const taskQueue = `documents-${newId()}`;

beforeAll(async () => {
  const { address } = inject('temporal');
  silenceRuntime();
  world = await openWorld();
  connection = await Connection.connect({ address });
  native = await NativeConnection.connect({ address });
  worker = await Worker.create({
    connection: native,
    taskQueue,
    workflowBundle: { codePath: inject('workflowBundle') },
    activities: createKnowledgeActivities({
      unitOfWork: world.unitOfWork,
      extractor: createTextExtractor({ timeoutMs: 1_000, heapMb: 256 }),
    }),
  });
  running = worker.run();
});
afterAll(async () => {
  worker.shutdown();
  await running;
  await native.close();
  await connection.close();
  await world.stop();
});

async function ingest(content: string, mediaType: DocumentMediaType) {
  const space = await world.addSpace();
  const { collection } = await world.act(space, (ctx) => createCollection(ctx, { name: 'C' }));
  await world.act(space, (ctx) =>
    uploadDocument(ctx, { collectionId: collection.id, filename: 'a', mediaType, content }),
  );
  const pending = world.dispatches.at(-1)!;
  const client = new WorkflowClient({ connection, namespace: inject('temporal').namespace });
  const handle = await client.start(pending.workflowType, {
    taskQueue,
    workflowId: pending.workflowId,
    args: [pending.payload],
  });
  const result: unknown = await handle.result().catch((error: unknown) => {
    const cause = error instanceof WorkflowFailedError ? error.cause : null;
    return cause instanceof ApplicationFailure ? cause.type : error;
  });
  const { status } = await handle.describe();
  return { result, status: status.name, history: JSON.stringify(await handle.fetchHistory()) };
}

describe('ingestDocument', () => {
  it('makes a document from the outbox ready, and keeps the text out of its history', async () => {
    const { result, history } = await ingest('# Canary-title\n\nThe canary-4711 is blue.', 'text/markdown');
    expect(result).toEqual({ status: 'ready', reason: null, chunkCount: 1 });
    expect(history).not.toMatch(/canary/i);
    expect(history.length).toBeLessThan(16_000);
  });

  it('fails with the code of its document, when that cannot be read', async () => {
    const { result, status } = await ingest('<div>'.repeat(5_000), 'text/html');
    expect([status, result]).toEqual(['FAILED', 'too_slow']);
  });
});
