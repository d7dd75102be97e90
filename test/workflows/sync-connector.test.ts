import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createConnectorActivities } from '#activities/connectors/create-connector-activities.ts';
import { createTextExtractor } from '#adapters/knowledge/text-extractor.ts';
import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import { openWorld, type KnowledgeWorld } from '#test/support/knowledge-world.ts';
import { ConnectorSpace, testProviders } from '#test/support/sources/connector-space.ts';
import { MemorySource, memoryProvider } from '#test/support/sources/memory-source.ts';
import { startWorkflowWorker, type WorkflowWorker } from '#test/support/workflow-worker.ts';

let world: KnowledgeWorld;
let worker: WorkflowWorker;
const memory = new Map<string, MemorySource>();
const sources = testProviders([memoryProvider(memory)]);

beforeAll(async () => {
  world = await openWorld();
  worker = await startWorkflowWorker(
    createConnectorActivities({ unitOfWork: world.unitOfWork, sources, extractor: createTextExtractor() }),
  );
}, 60_000);
afterAll(async () => {
  await worker.stop();
  await world.stop();
});

async function connect(documents: Record<string, string> = {}) {
  const name = `source-${memory.size}`;
  const source = new MemorySource();
  memory.set(name, source);
  for (const [ref, text] of Object.entries(documents)) {
    source.put(ref, text);
  }
  const space = await ConnectorSpace.create(world, sources, {
    providerSlug: 'memory',
    scopeConfig: { name },
  });
  const { tenantId, connectorId } = space.ids;
  const handle = await worker.client.start('runConnector', {
    taskQueue: worker.taskQueue,
    workflowId: `connector/${tenantId}/${connectorId}`,
    args: [{ tenantId, connectorId }],
  });
  const sync = async (more: Parameters<ConnectorSpace['request']>[0] = {}) => {
    const { id } = await space.request(more);
    await handle.signal('syncRequested', id);
    await expect
      .poll(async () => (await space.runs()).find((run) => run.id === id)?.completedAt ?? null, {
        timeout: 30_000,
        interval: 100,
      })
      .not.toBeNull();
    const run = (await space.runs()).find((each) => each.id === id);
    return run!;
  };
  return { source, space, handle, sync };
}

describe('a run of a connector', () => {
  it('stores what the source has, fetches only what changed, and deletes what is gone', async () => {
    const { source, space, sync } = await connect({ a: 'Alpha.', b: 'Beta.', c: 'Gamma.', d: 'Delta.' });
    expect(await sync()).toMatchObject({ status: 'completed', added: 4, recordsFetched: 4, deleted: 0 });
    expect(await space.contents()).toEqual({
      'a.md': 'Alpha.',
      'b.md': 'Beta.',
      'c.md': 'Gamma.',
      'd.md': 'Delta.',
    });
    expect(source.take('fetch')).toHaveLength(4);
    expect(await space.read()).toMatchObject({ status: 'active' });

    expect(await sync()).toMatchObject({ status: 'completed', added: 0, unchanged: 4 });
    expect(source.take('fetch')).toEqual([]);

    source.put('b', 'Beta the second.');
    source.documents.delete('c');
    source.put('e', 'Epsilon.');
    expect(await sync()).toMatchObject({
      status: 'completed',
      added: 1,
      updated: 1,
      unchanged: 2,
      deleted: 1,
    });
    expect(source.take('fetch')).toEqual(['fetch b', 'fetch e']);
    expect(await space.contents()).toEqual({
      'a.md': 'Alpha.',
      'b.md': 'Beta the second.',
      'd.md': 'Delta.',
      'e.md': 'Epsilon.',
    });
  });

  it('fails where groups are listed without an end, which keeps their members as they were', async () => {
    const { source, sync } = await connect({ a: 'Alpha.' });
    source.groups = () => Promise.resolve({ groups: [], next: 'on' });
    expect(await sync()).toMatchObject({ status: 'failed', errorCode: 'source_invalid', added: 0 });
  });

  it('fails without another attempt when the source refuses the credential', async () => {
    const { source, space, sync } = await connect({ a: 'Alpha.' });
    source.before = () => {
      throw new SourceFailure('auth_failed', 'The source refuses access.');
    };
    expect(await sync()).toMatchObject({
      status: 'failed',
      errorCode: 'auth_failed',
      errorText: 'The source refuses access.',
    });
    expect(source.take('check')).toHaveLength(1);
    expect(await space.read()).toMatchObject({ status: 'auth_required', statusReason: 'auth_failed' });
  });
});
