import type { Logger } from 'pino';
import { createActivities } from '#activities/index.ts';
import { createWatchActivities } from '#activities/connectors/create-watch-activities.ts';
import { createMaintenanceActivities } from '#activities/maintenance/create-maintenance-activities.ts';
import { StreamWriter } from '#activities/responses/stream-writer.ts';
import { createAuthorizationServers } from '#adapters/authorization/authorization-servers.ts';
import { createStoredCredentials } from '#adapters/credentials/stored-credentials.ts';
import { AnswerShares } from '#adapters/egress/answer-shares.ts';
import { createGuardedConnect } from '#adapters/egress/guarded-connect.ts';
import { createGuardedFetch } from '#adapters/egress/guarded-fetch.ts';
import type { TakeTurn } from '#adapters/embeddings/builtin-embedder.ts';
import { createBuiltinModel, modelFilesSource } from '#adapters/embeddings/create-builtin-model.ts';
import { createEmbedders } from '#adapters/embeddings/create-embedders.ts';
import { findListsIn } from '#adapters/embeddings/find-lists.ts';
import { createVectorProcesses } from '#adapters/embeddings/vector-processes.ts';
import { fileAnchors } from '#adapters/events/file-anchors.ts';
import { createPresidio } from '#adapters/governance/presidio.ts';
import { createRedactionThreads, workerRedaction } from '#adapters/governance/redaction-threads.ts';
import { createTextExtractor } from '#adapters/knowledge/text-extractor.ts';
import { anthropic } from '#adapters/models/anthropic.ts';
import { builtinModel } from '#adapters/models/builtin.ts';
import { createCredentials } from '#adapters/models/credentials.ts';
import { google } from '#adapters/models/google.ts';
import { modelRouter } from '#adapters/models/model-router.ts';
import { openAi } from '#adapters/models/openai.ts';
import { openAiCompatible } from '#adapters/models/openai-compatible.ts';
import { createTraceExporter } from '#adapters/observability/otlp-exporter.ts';
import { createRerankers } from '#adapters/reranking/create-rerankers.ts';
import { createSourceProviders } from '#adapters/sources/create-source-providers.ts';
import { sourceDialects } from '#adapters/sources/dialects.ts';
import { namedRoots } from '#adapters/sources/named-roots.ts';
import { createTelemetry } from '#adapters/telemetry/metrics.ts';
import { createProver } from '#adapters/tenant-deletion/create-prover.ts';
import { createToolServers } from '#adapters/tools/mcp-client.ts';
import { useConnections } from '#domain/capabilities/connection-tokens/use-connections.ts';
import type { CredentialUse } from '#domain/capabilities/credentials/credential-source.ts';
import { openCredential } from '#domain/capabilities/credentials/open-credential.ts';
import { outboxAgeSeconds } from '#domain/foundation/durable/outbox.ts';
import { sendAfterCommit } from '#domain/foundation/durable/send-after-commit.ts';
import { taskQueues } from '#domain/foundation/durable/task-queues.ts';
import type { WorkerConfig } from '#domain/foundation/kernel/config.ts';
import { Secrets } from '#domain/foundation/kernel/secrets.ts';
import { softwareVersion } from '#domain/foundation/kernel/software-version.ts';
import { ConnectionWatch } from '#domain/foundation/persistence/connection-watch.ts';
import { DatabasePulse } from '#domain/foundation/persistence/database-pulse.ts';
import { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { sweepNames } from '#domain/operations/maintenance/sweeps.ts';
import { readUpkeepState } from '#domain/operations/maintenance/upkeep-state.ts';
import type { SweepDependencies } from '#domain/operations/sweep-kinds/sweep.ts';
import { buildBundle } from './build-bundle.ts';
import { createCanceller, createStarter } from './canceller.ts';
import { connectLazily } from './client.ts';
import { openDatabases } from './databases.ts';
import { createDispatcher, relayPauseMs, startRelay } from './dispatcher.ts';
import { createHealthServer } from './health-server.ts';
import { createInspector } from './inspector.ts';
import { opaqueFailures } from './interceptors/opaque-failures.ts';
import { Polling } from './polling.ts';
import { createTenantWorkflows } from './tenant-workflows.ts';
import { startUpkeep } from './upkeep.ts';
import { upkeepOptions } from './upkeep-options.ts';
import { batchOptions, interactiveOptions, synchronisationOptions, watchOptions } from './worker-options.ts';
import { workerPaces } from './worker-paces.ts';

export interface WorkerProcess {
  /** Takes work, once PostgreSQL and Temporal answer. */
  start(): void;
  /** Returns running work to its queue. */
  stop(): Promise<void>;
}

/**
 * Wires a worker by hand, top to bottom.
 * @throws when the login bypasses row-level security
 */
export async function assembleWorker(config: WorkerConfig, logger: Logger): Promise<WorkerProcess> {
  const metrics = createTelemetry();
  const watch = new ConnectionWatch(() => metrics.hungCall({ target: 'postgresql' }));
  metrics.observeConnections(() => watch.connections);
  const databases = await openDatabases(config, watch);
  const { database, upkeepDatabase } = databases;
  metrics.observeQueueAge(() => outboxAgeSeconds(database));
  metrics.observeUpkeep(() => readUpkeepState(upkeepDatabase, sweepNames));
  const secrets = new Secrets(config.MASTER_KEY);
  const onTemporalHung = () => metrics.hungCall({ target: 'temporal' });
  const client = connectLazily({
    address: config.TEMPORAL_ADDRESS,
    namespace: config.TEMPORAL_NAMESPACE,
    onHung: onTemporalHung,
  });
  const relayDependencies = { client, database, metrics, logger };
  const dispatcher = createDispatcher(relayDependencies);
  const unitOfWork = new UnitOfWork(databases.orm, sendAfterCommit(dispatcher));
  const purge = new UnitOfWork(databases.purgeOrm);
  const paces = workerPaces(config);
  const shares = new AnswerShares();
  const egress = { fetch: createGuardedFetch(config.EGRESS_ALLOW), onLimitExceeded: metrics.answerCutOff };
  const openStored = (use: CredentialUse) =>
    unitOfWork.inTenant(use.tenantId, (em) => openCredential({ em, secrets }, use));
  const stored = createStoredCredentials({ ...egress, open: openStored });
  const authorizationServers = createAuthorizationServers({ ...egress, shares, dialects: sourceDialects() });
  const connections = useConnections({ unitOfWork, secrets, authorizationServers });
  const credential = createCredentials(config.MODEL_CREDENTIALS, process.env);
  const vendor = { ...egress, shares, credential, stored };
  const builtin = createBuiltinModel(modelFilesSource(config, process.env), {
    onChange: (state) =>
      logger.info(
        { embeddingModel: state.is === 'unavailable' ? state.reason : state.is },
        'embedding model',
      ),
    onProcessLost: (reason) => logger.warn({ reason }, 'a process that embeds passages failed'),
  });
  const processes = createVectorProcesses();
  const takeTurn: TakeTurn = (tenantId, signal) => paces.passages.take(tenantId, signal);
  const anchors = fileAnchors(config.ANCHOR_FILE);
  if (config.DATABASE_VERIFIER_URL === undefined) {
    logger.warn('DATABASE_VERIFIER_URL is not set: no deletion of a tenant erases anything');
  }
  const sources = createSourceProviders({
    ...egress,
    connect: createGuardedConnect(config.EGRESS_ALLOW),
    roots: namedRoots(config.CONNECTOR_ROOTS),
    openCredential: openStored,
    stored,
    connections,
  });
  const activities = createActivities({
    database,
    unitOfWork,
    purge,
    batches: databases.erasureBatches,
    authorizationServers,
    tenantWorkflows: createTenantWorkflows(client),
    prover: createProver(config.DATABASE_VERIFIER_URL),
    softwareVersion,
    anchors,
    eventRetentionDays: config.EVENT_RETENTION_DAYS,
    secrets,
    metrics,
    names: createPresidio(egress),
    longTexts: createRedactionThreads(secrets, workerRedaction),
    writer: new StreamWriter(database),
    pace: paces.turns,
    bulk: paces.documents,
    uploads: paces.uploads,
    reuse: paces.reuse,
    extractor: createTextExtractor(),
    sources,
    embedders: createEmbedders({
      ...vendor,
      builtin,
      processes,
      takeTurn,
    }),
    findLists: findListsIn(processes, takeTurn),
    rerankers: createRerankers(vendor),
    publicUrl: config.PUBLIC_URL,
    toolServers: createToolServers({
      ...egress,
      shares,
      credentials: config.TOOL_CREDENTIALS,
      env: process.env,
      stored,
      connections,
    }),
    traces: createTraceExporter({ ...egress, defaultBaseUrl: config.TRACING_BASE_URL }),
    models: modelRouter({
      openai: openAi(vendor),
      anthropic: anthropic(vendor),
      google: google(vendor),
      openai_compatible: openAiCompatible(vendor),
      builtin: builtinModel,
    }),
  });
  const upkeepDependencies: SweepDependencies = {
    database: upkeepDatabase,
    unitOfWork: new UnitOfWork(databases.upkeepOrm, sendAfterCommit(dispatcher)),
    purge,
    inspector: createInspector(client),
    canceller: createCanceller(client),
    starter: createStarter(client),
    authorizationServers,
    secrets,
    anchors,
    eventRetentionDays: config.EVENT_RETENTION_DAYS,
  };
  const pulse = new DatabasePulse(database, () => polling.check());
  const polling = new Polling({
    group: {
      address: config.TEMPORAL_ADDRESS,
      namespace: config.TEMPORAL_NAMESPACE,
      workflowBundle:
        config.WORKFLOW_BUNDLE === undefined ? await buildBundle() : { codePath: config.WORKFLOW_BUNDLE },
      interceptors: { activity: [() => ({ inbound: opaqueFailures(logger) })] },
      queues: [
        { ...interactiveOptions, activities, taskQueue: taskQueues.interactive },
        { ...batchOptions, activities, taskQueue: taskQueues.batch },
        { ...synchronisationOptions, activities, taskQueue: taskQueues.synchronisation },
        {
          ...watchOptions,
          activities: createWatchActivities({ unitOfWork, sources }),
          taskQueue: taskQueues.watches,
          activitiesOnly: true,
        },
        {
          ...upkeepOptions,
          activities: createMaintenanceActivities(upkeepDependencies),
          taskQueue: taskQueues.upkeep,
        },
      ],
    },
    pulse,
    logger,
    onHung: onTemporalHung,
  });
  const health = createHealthServer({
    instanceId: config.INSTANCE_ID,
    missing: () => polling.missing,
    scrape: () => metrics.scrape(),
  });
  let background: { stop: () => Promise<void> }[] = [];
  return {
    start: () => {
      builtin.start();
      background = [
        startRelay(relayDependencies, dispatcher, { pauseMs: relayPauseMs.worker, starts: paces.starts }),
        startUpkeep({
          client,
          deps: upkeepDependencies,
          paces: {
            sweep: config.SWEEP_INTERVAL_SECONDS,
            seal: config.SEAL_INTERVAL_SECONDS,
            anchor: config.ANCHOR_INTERVAL_SECONDS,
            hour: 3_600,
            day: 86_400,
          },
          logger,
        }),
      ];
      health.listen(config.WORKER_PORT, config.HOST);
      pulse.start();
      polling.start();
    },
    stop: async () => {
      await Promise.allSettled([polling.stop(), pulse.stop(), ...background.map((each) => each.stop())]);
      health.close();
      await Promise.allSettled([databases.close(), client.connection.close()]);
    },
  };
}
