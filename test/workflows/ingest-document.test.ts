import { WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createKnowledgeActivities } from '#activities/knowledge/create-knowledge-activities.ts';
import { createTextExtractor } from '#adapters/knowledge/text-extractor.ts';
import { createCollection } from '#domain/knowledge/collections/create-collection.ts';
import type { DocumentMediaType } from '#domain/knowledge/collections/document-status.ts';
import { uploadDocument } from '#domain/knowledge/collections/upload-document.ts';
import { startWorkflowWorker, type WorkflowWorker } from '#test/support/workflow-worker.ts';
import { openWorld, type KnowledgeWorld } from '#test/support/knowledge-world.ts';

let world: KnowledgeWorld;
let worker: WorkflowWorker;

beforeAll(async () => {
  world = await openWorld();
  worker = await startWorkflowWorker(
    createKnowledgeActivities({
      unitOfWork: world.unitOfWork,
      extractor: createTextExtractor({ timeoutMs: 5_000, heapMb: 256 }),
    }),
  );
});
afterAll(async () => {
  await worker.stop();
  await world.stop();
});

async function ingest(content: string, mediaType: DocumentMediaType) {
  const space = await world.addSpace();
  const { collection } = await world.act(space, (ctx) => createCollection(ctx, { name: 'C' }));
  await world.act(space, (ctx) =>
    uploadDocument(ctx, { collectionId: collection.id, filename: 'a', mediaType, content }),
  );
  const pending = world.dispatches.at(-1)!;
  const handle = await worker.client.start(pending.workflowType, {
    taskQueue: worker.taskQueue,
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
    const { result, status } = await ingest('<div>'.repeat(20_000), 'text/html');
    expect([status, result]).toEqual(['FAILED', 'too_slow']);
  });
});
