import { WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createKnowledgeActivities } from '#activities/knowledge/create-knowledge-activities.ts';
import type { Dispatch, SignalMessage } from '#domain/foundation/durable/messages.ts';
import { createCollection } from '#domain/knowledge/collections/create-collection.ts';
import { Document } from '#domain/knowledge/collections/document.entity.ts';
import type { DocumentMediaType } from '#domain/knowledge/collections/document-status.ts';
import { retryDocument } from '#domain/knowledge/collections/retry-document.ts';
import { uploadDocument } from '#domain/knowledge/collections/upload-document.ts';
import { ExtractionFailure } from '#domain/knowledge/ingestion/document-extractor.ts';
import { startWorkflowWorker, type WorkflowWorker } from '#test/support/workflow-worker.ts';
import { openWorld, type KnowledgeWorld } from '#test/support/knowledge-world.ts';
import { extractor } from '#test/support/extractor.ts';

let world: KnowledgeWorld;
let worker: WorkflowWorker;
/** Called after an extraction was committed, before Temporal learns of it. */
let afterExtraction: (documentId: string) => Promise<void> = () => Promise.resolve();
/** Failures of the next extractions. */
const failures: ExtractionFailure[] = [];

beforeAll(async () => {
  world = await openWorld();
  const activities = createKnowledgeActivities({
    unitOfWork: world.unitOfWork,
    extractor: {
      extract: (...asked) => {
        const failure = failures.shift();
        return failure === undefined ? extractor.extract(...asked) : Promise.reject(failure);
      },
    },
  });
  worker = await startWorkflowWorker({
    ...activities,
    extractDocument: async (input) => {
      const result = await activities.extractDocument(input);
      await afterExtraction(input.documentId);
      return result;
    },
  } satisfies typeof activities);
});
afterAll(async () => {
  await worker.stop();
  await world.stop();
});

async function upload(content: string, mediaType: DocumentMediaType) {
  const space = await world.addSpace();
  const { collection } = await world.act(space, (ctx) => createCollection(ctx, { name: 'C' }));
  const { document } = await world.act(space, (ctx) =>
    uploadDocument(ctx, { collectionId: collection.id, filename: 'a', mediaType, content }),
  );
  const pending = world.dispatches.at(-1)!;
  const handle = await worker.client.start(pending.workflowType, {
    taskQueue: worker.taskQueue,
    workflowId: pending.workflowId,
    args: [pending.payload],
  });
  const ref = { collectionId: collection.id, documentId: document.id };
  return { space, ref, handle };
}

async function ingest(content: string, mediaType: DocumentMediaType) {
  const { handle } = await upload(content, mediaType);
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
    const { result, status } = await ingest('<html><body><script>1</script></body></html>', 'text/html');
    expect([status, result]).toEqual(['FAILED', 'empty_document']);
  });

  it('reads a document again that is retried before it has closed', async () => {
    failures.push(new ExtractionFailure('extraction_failed'));
    const { promise: isRetried, resolve, reject } = Promise.withResolvers<void>();
    afterExtraction = async (documentId) => {
      afterExtraction = () => Promise.resolve();
      await started.then(({ space, ref }) => retry(space, { ...ref, documentId })).then(resolve, reject);
    };
    const started = upload('The canary is yellow.', 'text/plain');
    const { space, ref, handle } = await started;
    await isRetried;
    await handle.result().catch(() => undefined);
    const document = await world.unitOfWork.inTenant(space.tenantId, (em) =>
      em.findOneOrFail(Document, { id: ref.documentId }),
    );
    expect([document.status, document.chunkCount]).toEqual(['ready', 1]);
  });

  it('runs once for a retry after it has closed', async () => {
    failures.push(new ExtractionFailure('extraction_failed'), new ExtractionFailure('too_slow'));
    const { space, ref, handle } = await upload('The canary is white.', 'text/plain');
    await expect(handle.result()).rejects.toMatchObject({ cause: { type: 'extraction_failed' } });
    await retry(space, ref);
    const again = worker.client.getHandle(handle.workflowId);
    await expect(again.result()).rejects.toMatchObject({ cause: { type: 'too_slow' } });
    const { runId } = await again.describe();
    const { events } = await again.fetchHistory();
    expect(events?.[0]?.workflowExecutionStartedEventAttributes).toMatchObject({
      firstExecutionRunId: runId,
    });
  });
});

/** Sends what a retry enqueues as a dispatcher does, but with the queue of this file's worker. */
async function retry(
  space: Parameters<KnowledgeWorld['act']>[0],
  ref: Parameters<typeof retryDocument>[1],
): Promise<void> {
  // Temporal has acknowledged the start.
  await world.admin.query('delete from outbox');
  await world.act(space, (ctx) => retryDocument(ctx, ref));
  const { workflowType, workflowId, payload, id } = world.dispatches.at(-1) as Dispatch & SignalMessage;
  await worker.client.signalWithStart(workflowType, {
    taskQueue: worker.taskQueue,
    workflowId,
    args: [payload.start],
    signal: payload.signal,
    signalArgs: [...payload.args, { id }],
  });
}
