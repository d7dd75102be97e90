import type { Client } from '@temporalio/client';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createKnowledgeActivities } from '#activities/knowledge/create-knowledge-activities.ts';
import { claimOutbox } from '#domain/foundation/durable/outbox.ts';
import { EmbeddingFailure } from '#domain/knowledge/embeddings/embedder.ts';
import { createDispatcher } from '#temporal/dispatcher.ts';
import { EmbeddingSpace } from '#test/support/embedding-space.ts';
import { openWorld, type KnowledgeWorld } from '#test/support/knowledge-world.ts';
import { noMetrics } from '#test/support/no-metrics.ts';
import { startWorkflowWorker, type WorkflowWorker } from '#test/support/workflow-worker.ts';
import { wordEmbedders } from '#test/support/word-embedders.ts';
import { extractor } from '#test/support/extractor.ts';

let world: KnowledgeWorld;
let worker: WorkflowWorker;
const embedders = wordEmbedders();
const builtin = 'bge-small-en-v1.5';

beforeAll(async () => {
  world = await openWorld();
  worker = await startWorkflowWorker(
    createKnowledgeActivities({
      unitOfWork: world.unitOfWork,
      extractor,
      embedders,
    }),
  );
});
afterEach(() => {
  embedders.before = () => {};
});
afterAll(async () => {
  await worker.stop();
  await world.stop();
});

async function start({ fixture: { tenantId, spaceId } }: EmbeddingSpace) {
  return worker.client.start('embedSpace', {
    taskQueue: worker.taskQueue,
    workflowId: `embeddings/${tenantId}/${spaceId}`,
    args: [{ tenantId, spaceId }],
  });
}

/** As a relay does. */
async function sendPending(): Promise<void> {
  const { database } = world.database;
  const dispatcher = createDispatcher({
    client: { workflow: worker.client } as Client,
    database,
    metrics: noMetrics,
    logger: pino({ level: 'silent' }),
  });
  await world.admin.query(`update outbox set claimed_until = now() - interval '1 s'`);
  for (const row of await claimOutbox(database, { rows: 10, starts: 10 })) await dispatcher.dispatch(row);
}

async function changing(): Promise<EmbeddingSpace> {
  const space = await EmbeddingSpace.create(world, embedders);
  await space.add('The canary-4711 is blue.');
  await space.add('The canary-4712 is red.');
  await space.change(await space.model());
  return space;
}

describe('embedSpace', () => {
  it('runs until the new model is in use and nothing is pending, and keeps texts out of its history', async () => {
    const space = await changing();
    const handle = await start(space);
    expect(await handle.result()).toEqual({ status: 'completed', reason: null });
    expect(await space.read()).toMatchObject({ building: null, pendingDocuments: 0 });
    expect((await space.generations()).map(({ state, vectors }) => [state, vectors])).toEqual([
      ['retired', 2],
      ['active', 2],
    ]);
    const history = JSON.stringify(await handle.fetchHistory());
    expect(history).not.toMatch(/canary/i);
    expect(history).not.toContain(Buffer.from('canary').toString('base64').slice(0, 7));
  });

  it('looks once more when it is woken during a slice', async () => {
    const space = await EmbeddingSpace.create(world, embedders);
    await space.add('The canary-4711 is blue.');
    embedders.before = () => {
      throw new EmbeddingFailure('unavailable');
    };
    await space.add('The canary-4712 is red.');
    const modelId = await space.model();
    let woken = false;
    const started = Promise.withResolvers<Awaited<ReturnType<typeof start>>>();
    embedders.before = async () => {
      if (!woken) {
        woken = true;
        // After the slice has listed the generations.
        await space.change(modelId);
        await (await started.promise).signal('wake');
      }
    };
    const handle = await start(space);
    started.resolve(handle);
    await handle.result();
    expect(woken).toBe(true);
    expect((await space.read()).active?.model.id).toBe(modelId);
  });

  it('embeds a document that becomes ready behind its place', async () => {
    const space = await EmbeddingSpace.create(world, embedders);
    const unavailable = () => {
      throw new EmbeddingFailure('unavailable');
    };
    // Begins the space's generation of vectors.
    await space.add('The canary-4710 is green.');
    // Ids are in the order of the uploads, and the documents become ready in another.
    const late = await space.upload('The canary-4711 is blue.');
    embedders.before = unavailable;
    await space.add('The canary-4712 is red.');
    await world.admin.query('delete from outbox');
    embedders.before = async () => {
      embedders.before = unavailable;
      await space.process(late);
      await sendPending();
      embedders.before = () => {};
    };
    const handle = await start(space);
    expect(await handle.result()).toEqual({ status: 'completed', reason: null });
    expect(await space.read()).toMatchObject({ pendingDocuments: 0 });
  });

  it('waits for a model that does not answer, and goes on by itself', async () => {
    const space = await changing();
    let refused = 0;
    embedders.before = (model) => {
      if (model !== builtin && refused < 2) {
        refused += 1;
        throw new EmbeddingFailure(refused === 1 ? 'unavailable' : 'refused');
      }
    };
    const handle = await start(space);
    await expect
      .poll(async () => (await space.read()).building?.generation.lastError, { timeout: 10_000 })
      .toBe('unavailable');
    expect(await space.search('The canary-4712 is red.')).toMatchObject({ mode: 'hybrid' });
    await handle.result();
    expect(refused).toBe(2);
    expect(await space.read()).toMatchObject({
      building: null,
      pendingDocuments: 0,
      active: { generation: { lastError: null } },
    });
    expect(JSON.stringify(await handle.fetchHistory())).not.toMatch(/canary/i);
  });
});
