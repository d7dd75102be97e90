import { vi } from 'vitest';
import type { WorkflowClient, WorkflowHandle } from '@temporalio/client';
import { createWatchActivities } from '#activities/connectors/create-watch-activities.ts';
import type { WatchLimits } from '#activities/connectors/watch-limits.ts';
import { workflowIdOf } from '#domain/foundation/durable/workflow-types.ts';
import { watchQueueOf } from '#domain/foundation/durable/task-queues.ts';
import { createConnectorActivities } from '#activities/connectors/create-connector-activities.ts';
import { providers } from '#adapters/sources/providers.ts';
import type { CreateConnector } from '#domain/knowledge/connectors/create-connector.ts';
import type { Plan } from '#domain/knowledge/connectors/plan-run.ts';
import type { SyncRun } from '#domain/knowledge/connectors/sync-run.entity.ts';
import { openWorld, type KnowledgeWorld } from '../knowledge-world.ts';
import { startWorkflowWorker, type WorkflowWorker } from '../workflow-worker.ts';
import { ConnectorSpace } from './connector-space.ts';
import { MemorySource, memoryProvider } from './memory-source.ts';
import { NotedFetches } from './noted-fetches.ts';
import { ReachableProviders } from './reachable-providers.ts';
import type { SourceServer } from './source-server.ts';
import { noOtherWork } from '../no-other-work.ts';
import { extractor } from '../extractor.ts';

/** A connector with its actor in Temporal. */
export interface ServedConnector {
  space: ConnectorSpace;
  handle: WorkflowHandle;
  /** Requests a run and waits for its end. */
  sync: (more?: Parameters<ConnectorSpace['request']>[0], withinMs?: number) => Promise<SyncRun>;
  /** Requests a run. */
  begin: (more?: Parameters<ConnectorSpace['request']>[0]) => Promise<string>;
  /** Waits for the end of a run, by default for a minute. */
  end: (runId: string, withinMs?: number) => Promise<SyncRun>;
  /** References of the documents that the source was asked for since the last call. */
  takeFetched: () => string[];
  /** Starts the actor once more, as the sweep's message does. */
  restart: () => Promise<WorkflowHandle>;
}

/** A connector of a scripted source. */
export interface ActedConnector extends ServedConnector {
  source: MemorySource;
}

/** A worker in this process that runs the actors of connectors, against a real Temporal and PostgreSQL. */
export class ConnectorActors {
  readonly world: KnowledgeWorld;
  readonly worker: WorkflowWorker;
  readonly #memory: Map<string, MemorySource>;
  readonly #providers: ReachableProviders;
  readonly #fetches: NotedFetches;
  /** Workers for watches. */
  readonly watchers: WorkflowWorker[] = [];

  private constructor(
    world: KnowledgeWorld,
    worker: WorkflowWorker,
    parts: { memory: Map<string, MemorySource>; reachable: ReachableProviders; fetches: NotedFetches },
  ) {
    this.world = world;
    this.worker = worker;
    this.#memory = parts.memory;
    this.#providers = parts.reachable;
    this.#fetches = parts.fetches;
  }

  /**
   * @param watch limits of watches, for sources that report changes; omitted: none does
   * @param onPlan called when a plan of an actor is committed, before the actor has it
   */
  static async open({
    watch,
    onPlan,
  }: {
    watch?: Partial<WatchLimits>;
    onPlan?: (plan: Plan) => Promise<void>;
  } = {}): Promise<ConnectorActors> {
    const world = await openWorld();
    const memory = new Map<string, MemorySource>();
    const fetches = new NotedFetches();
    const reachable = new ReachableProviders(world, [
      memoryProvider(memory, { push: watch !== undefined }),
      ...providers.map((provider) => fetches.of(provider)),
    ]);
    const { sources } = reachable;
    const activities = createConnectorActivities({
      unitOfWork: world.unitOfWork,
      sources,
      extractor,
      bulk: noOtherWork,
    });
    const worker = await startWorkflowWorker({
      ...activities,
      planRun: async (input: Parameters<typeof activities.planRun>[0]) => {
        const plan = await activities.planRun(input);
        await onPlan?.(plan);
        return plan;
      },
    });
    const actors = new ConnectorActors(world, worker, { memory, reachable, fetches });
    if (watch !== undefined) {
      await actors.startWatches(watch);
    }
    return actors;
  }

  /** Starts a worker for watches. */
  async startWatches(limits: Partial<WatchLimits>): Promise<WorkflowWorker> {
    const deps = { unitOfWork: this.world.unitOfWork, sources: this.#providers.sources };
    const started = await startWorkflowWorker(createWatchActivities(deps, limits), {
      taskQueue: watchQueueOf(this.worker.taskQueue),
      shutdownGraceTime: '1s',
    });
    this.watchers.push(started);
    return started;
  }

  async stop(): Promise<void> {
    await Promise.all(this.watchers.map((watcher) => watcher.stop().catch(() => undefined)));
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
    return { source, ...(await this.#act(given)) };
  }

  /** A connector of a real server, with the credential that it asks for. */
  connectTo(server: SourceServer): Promise<ServedConnector> {
    this.#providers.allow(server);
    const { slug: providerSlug, scopeConfig, credential } = server;
    return this.#act({ providerSlug, scopeConfig, credential });
  }

  async #act(given: Parameters<typeof ConnectorSpace.create>[2]): Promise<ServedConnector> {
    const space = await ConnectorSpace.create(this.world, this.#providers.sources, given);
    const handle = await this.#start(space);
    const begin: ServedConnector['begin'] = async (request = {}) => {
      const { id } = await space.request(request);
      await handle.signal('syncRequested', id);
      return id;
    };
    const end = async (runId: string, withinMs = 60_000) => {
      const find = async () => (await space.runs()).find(({ id }) => id === runId);
      const isOver = async () => (await find())?.completedAt != null;
      // Unlike `expect.poll` also for tests that run at the same time.
      await vi.waitUntil(isOver, { timeout: withinMs, interval: 100 }).catch(async (cause: unknown) => {
        throw new Error(`The run did not end:\n${await progressOf(this.worker.client, handle)}`, { cause });
      });
      return (await find()) as SyncRun;
    };
    const sync: ServedConnector['sync'] = async (request, withinMs) => end(await begin(request), withinMs);
    const takeFetched = () => this.#fetches.take(space.connectorId);
    return { space, handle, sync, begin, end, takeFetched, restart: () => this.#start(space) };
  }

  /** What Temporal shows of a run. */
  async statusOf({ ids: { tenantId } }: ConnectorSpace, runId: string): Promise<string> {
    const workflowId = workflowIdOf('syncConnector', { tenantId, runId });
    return (await this.worker.client.getHandle(workflowId).describe()).status.name;
  }

  async #start(space: ConnectorSpace): Promise<WorkflowHandle> {
    const { tenantId, connectorId } = space.ids;
    const workflowId = `connector/${tenantId}/${connectorId}`;
    const { taskQueue } = this.worker;
    await this.worker.client.start('runConnector', {
      taskQueue,
      workflowId,
      workflowTaskTimeout: '2s',
      args: [{ tenantId, connectorId }],
    });
    // The actor, whichever of its runs is the current one.
    return this.worker.client.getHandle(workflowId);
  }
}

/** The last events of the actor and of its run, as seconds and the proto's number, and what each of them waits for. */
async function progressOf(client: WorkflowClient, handle: WorkflowHandle): Promise<string> {
  const { events } = await handle.fetchHistory();
  const { raw } = await handle.describe();
  const lines = [
    handle.workflowId,
    ...(events ?? [])
      .slice(-12)
      .map(({ eventType, eventTime }) => `${Number(eventTime?.seconds)} ${Number(eventType)}`),
    ...(raw.pendingActivities ?? []).map(
      ({ activityType, attempt, lastFailure }) =>
        `${activityType?.name}, attempt ${attempt}: ${lastFailure?.message ?? 'no failure'}`,
    ),
    `attempt ${raw.pendingWorkflowTask?.attempt ?? 'of no workflow task'}`,
  ];
  for (const { workflowId } of raw.pendingChildren ?? []) {
    // It may have ended.
    lines.push(await progressOf(client, client.getHandle(workflowId!)).catch(String));
  }
  return lines.join('\n');
}
