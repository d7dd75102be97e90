import { expect } from 'vitest';
import type { WorkflowHandle } from '@temporalio/client';
import { createConnectorActivities } from '#activities/connectors/create-connector-activities.ts';
import { createTextExtractor } from '#adapters/knowledge/text-extractor.ts';
import type { CreateConnector } from '#domain/knowledge/connectors/create-connector.ts';
import type { SyncRun } from '#domain/knowledge/connectors/sync-run.entity.ts';
import { openWorld, type KnowledgeWorld } from '../knowledge-world.ts';
import { startWorkflowWorker, type WorkflowWorker } from '../workflow-worker.ts';
import { ConnectorSpace, testProviders } from './connector-space.ts';
import { MemorySource, memoryProvider } from './memory-source.ts';

/** A connector of a scripted source, with its actor in Temporal. */
export interface ActedConnector {
  source: MemorySource;
  space: ConnectorSpace;
  handle: WorkflowHandle;
  /** Requests a run and waits for its end. */
  sync: (more?: Parameters<ConnectorSpace['request']>[0]) => Promise<SyncRun>;
  /** Requests a run. */
  begin: (more?: Parameters<ConnectorSpace['request']>[0]) => Promise<string>;
  /** Waits for the end of a run. */
  end: (runId: string) => Promise<SyncRun>;
  /** Starts the actor once more, as the sweep's message does. */
  restart: () => Promise<WorkflowHandle>;
}

/** A worker in this process that runs the actors of connectors, against a real Temporal and PostgreSQL. */
export class ConnectorActors {
  readonly world: KnowledgeWorld;
  readonly worker: WorkflowWorker;
  readonly #memory: Map<string, MemorySource>;
  readonly #sources: ReturnType<typeof testProviders>;

  private constructor(world: KnowledgeWorld, worker: WorkflowWorker, memory: Map<string, MemorySource>) {
    this.world = world;
    this.worker = worker;
    this.#memory = memory;
    this.#sources = testProviders([memoryProvider(memory)]);
  }

  static async open(): Promise<ConnectorActors> {
    const world = await openWorld();
    const memory = new Map<string, MemorySource>();
    const sources = testProviders([memoryProvider(memory)]);
    const extractor = createTextExtractor();
    const worker = await startWorkflowWorker(
      createConnectorActivities({ unitOfWork: world.unitOfWork, sources, extractor }),
    );
    return new ConnectorActors(world, worker, memory);
  }

  async stop(): Promise<void> {
    await this.worker.stop();
    await this.world.stop();
  }

  async connect(
    documents: Record<string, string> = {},
    more: Partial<CreateConnector> = {},
  ): Promise<ActedConnector> {
    const name = `source-${this.#memory.size}`;
    const source = new MemorySource();
    this.#memory.set(name, source);
    for (const [ref, text] of Object.entries(documents)) {
      source.put(ref, text);
    }
    const given = { providerSlug: 'memory', scopeConfig: { name }, ...more };
    const space = await ConnectorSpace.create(this.world, this.#sources, given);
    const handle = await this.#start(space);
    const begin: ActedConnector['begin'] = async (request = {}) => {
      const { id } = await space.request(request);
      await handle.signal('syncRequested', id);
      return id;
    };
    const end = async (runId: string) => {
      const find = async () => (await space.runs()).find(({ id }) => id === runId);
      const isOver = async () => (await find())?.completedAt != null;
      await expect.poll(isOver, { timeout: 60_000, interval: 100 }).toBe(true);
      return (await find()) as SyncRun;
    };
    const sync: ActedConnector['sync'] = async (request) => end(await begin(request));
    return { source, space, handle, sync, begin, end, restart: () => this.#start(space) };
  }

  async #start(space: ConnectorSpace): Promise<WorkflowHandle> {
    const { tenantId, connectorId } = space.ids;
    const workflowId = `connector/${tenantId}/${connectorId}`;
    const { taskQueue } = this.worker;
    await this.worker.client.start('runConnector', {
      taskQueue,
      workflowId,
      args: [{ tenantId, connectorId }],
    });
    // The actor, whichever of its runs is the current one.
    return this.worker.client.getHandle(workflowId);
  }
}
