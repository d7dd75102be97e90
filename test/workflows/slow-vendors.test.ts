import { afterAll, beforeAll, expect, it } from 'vitest';
import { createKnowledgeActivities } from '#activities/knowledge/create-knowledge-activities.ts';
import { createCollection } from '#domain/knowledge/collections/create-collection.ts';
import { uploadDocument } from '#domain/knowledge/collections/upload-document.ts';
import { batchOptions } from '../../temporal/worker-options.ts';
import { startEmbeddingServer, type EmbeddingServer } from '../support/embedding-server.ts';
import { openWorld, type KnowledgeWorld } from '../support/knowledge-world.ts';
import { embeddersFor, silence, useServer } from '../support/vendor-space.ts';
import { startWorkflowWorker, type WorkflowWorker } from '../support/workflow-worker.ts';
import { extractor } from '../support/extractor.ts';

const dims = 48;
let world: KnowledgeWorld;
let worker: WorkflowWorker;
let silent: EmbeddingServer;
let good: EmbeddingServer;

beforeAll(async () => {
  world = await openWorld();
  silent = await startEmbeddingServer(dims);
  silence(silent);
  good = await startEmbeddingServer(dims);
  worker = await startWorkflowWorker(
    createKnowledgeActivities({
      unitOfWork: world.unitOfWork,
      extractor,
      embedders: embeddersFor([silent, good]),
    }),
    batchOptions,
  );
});
afterAll(async () => {
  await silent.stop();
  await worker.stop();
  await good.stop();
  await world.stop();
});

/** Documents of a new tenant that are being processed. */
async function process(server: EmbeddingServer, count: number) {
  const space = await world.addSpace();
  await useServer(world.admin, space, { server, dims });
  const { collection } = await world.act(space, (ctx) => createCollection(ctx, { name: 'C' }));
  const started = Array.from({ length: count }, async (_, number) => {
    await world.act(space, (ctx) =>
      uploadDocument(ctx, {
        collectionId: collection.id,
        filename: 'a.txt',
        mediaType: 'text/plain',
        content: `The beacon ${number} is blue.`,
      }),
    );
  });
  await Promise.all(started);
  const pending = world.dispatches.filter(
    ({ workflowType, payload }) =>
      workflowType === 'ingestDocument' && (payload as { tenantId: string }).tenantId === space.tenantId,
  );
  expect(pending).toHaveLength(count);
  const handles = await Promise.all(
    pending.map(({ workflowType, workflowId, payload }) =>
      worker.client.start(workflowType, { taskQueue: worker.taskQueue, workflowId, args: [payload] }),
    ),
  );
  return { handles, collectionId: collection.id };
}

it('a vendor that does not answer holds a few slots of a queue, and documents of others are embedded', async () => {
  // More than the queue has slots.
  const waiting = await process(silent, batchOptions.maxConcurrentActivityTaskExecutions + 4);
  await expect.poll(() => silent.requests.length, { timeout: 20_000 }).toBe(3);
  const other = await process(good, 1);
  const results = await Promise.all(other.handles.map((handle) => handle.result()));
  expect(results).toEqual([{ status: 'ready', reason: null, chunkCount: 1 }]);
  const { rows } = await world.admin.query(
    'select embedded_count as n from documents where collection_id = $1',
    [other.collectionId],
  );
  expect(rows).toEqual([{ n: 1 }]);
  expect(silent.requests).toHaveLength(3);
  expect(silent.open()).toBe(3);
  // Documents that found no place are ready, and left to the workflow of their space.
  await Promise.all(waiting.handles.map((handle) => handle.terminate().catch(() => undefined)));
});
