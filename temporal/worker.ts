import { createServer } from 'node:http';
import closeWithGrace from 'close-with-grace';
import { Runtime } from '@temporalio/worker';
import { createActivities } from '#activities/index.ts';
import { createWatchActivities } from '#activities/connectors/create-watch-activities.ts';
import { createMaintenanceActivities } from '#activities/maintenance/create-maintenance-activities.ts';
import { StreamWriter } from '#activities/responses/stream-writer.ts';
import { createAuthorizationServers } from '#adapters/authorization/authorization-servers.ts';
import { createStoredCredentials } from '#adapters/credentials/stored-credentials.ts';
import { fileAnchors } from '#adapters/events/file-anchors.ts';
import { createBuiltinModel, modelFilesSource } from '#adapters/embeddings/create-builtin-model.ts';
import { createEmbedders } from '#adapters/embeddings/create-embedders.ts';
import { createRerankers } from '#adapters/reranking/create-rerankers.ts';
import { createGuardedConnect } from '#adapters/egress/guarded-connect.ts';
import { sourceDialects } from '#adapters/sources/dialects.ts';
import { createSourceProviders } from '#adapters/sources/create-source-providers.ts';
import { namedRoots } from '#adapters/sources/named-roots.ts';
import { createTextExtractor } from '#adapters/knowledge/text-extractor.ts';
import { anthropic } from '#adapters/models/anthropic.ts';
import { builtinModel } from '#adapters/models/builtin.ts';
import { createCredentials } from '#adapters/models/credentials.ts';
import { createProver } from '#adapters/tenant-deletion/create-prover.ts';
import { google } from '#adapters/models/google.ts';
import { createPresidio } from '#adapters/governance/presidio.ts';
import { createRedactionThreads, workerRedaction } from '#adapters/governance/redaction-threads.ts';
import { AnswerShares } from '#adapters/egress/answer-shares.ts';
import { createGuardedFetch } from '#adapters/egress/guarded-fetch.ts';
import { createTraceExporter } from '#adapters/observability/otlp-exporter.ts';
import { modelRouter } from '#adapters/models/model-router.ts';
import { openAi } from '#adapters/models/openai.ts';
import { openAiCompatible } from '#adapters/models/openai-compatible.ts';
import { createToolServers } from '#adapters/tools/mcp-client.ts';
import { anyPressure } from '#adapters/process/any-pressure.ts';
import { busyLoop } from '#adapters/process/busy-loop.ts';
import { exitWithParent } from '#adapters/process/exit-with-parent.ts';
import { limitHeapGrowth } from '#adapters/process/limit-heap-growth.ts';
import { processorPressure } from '#adapters/process/processor-pressure.ts';
import { createLogger, describeFault } from '#adapters/telemetry/logger.ts';
import { createTelemetry } from '#adapters/telemetry/metrics.ts';
import { AdaptiveRate } from '#domain/foundation/kernel/adaptive-rate.ts';
import { instanceHeaders } from '#domain/foundation/kernel/instance-header.ts';
import { parseWorkerConfig } from '#domain/foundation/kernel/config.ts';
import { BulkTurns } from '#domain/foundation/kernel/bulk-turns.ts';
import { ContendedPace } from '#domain/foundation/kernel/contended-pace.ts';
import { useConnections } from '#domain/capabilities/connection-tokens/use-connections.ts';
import type { CredentialUse } from '#domain/capabilities/credentials/credential-source.ts';
import { openCredential } from '#domain/capabilities/credentials/open-credential.ts';
import { erasureDatabase } from '#domain/operations/erasure/erasure-database.ts';
import type { SweepDependencies } from '#domain/operations/sweep-kinds/sweep.ts';
import { sweepNames } from '#domain/operations/maintenance/sweeps.ts';
import { readUpkeepState } from '#domain/operations/maintenance/upkeep-state.ts';
import { armFailpointFrom } from '#domain/foundation/kernel/failpoint.ts';
import { Secrets } from '#domain/foundation/kernel/secrets.ts';
import { softwareVersion } from '#domain/foundation/kernel/software-version.ts';
import { outboxAgeSeconds } from '#domain/foundation/durable/outbox.ts';
import { sendAfterCommit } from '#domain/foundation/durable/send-after-commit.ts';
import { ConnectionWatch } from '#domain/foundation/persistence/connection-watch.ts';
import { DatabasePulse } from '#domain/foundation/persistence/database-pulse.ts';
import { Database } from '#domain/foundation/persistence/database.ts';
import { createOrm } from '#domain/operations/schema/orm.ts';
import { ensureRestrictedRole } from '#domain/foundation/persistence/ensure-restricted-role.ts';
import { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { taskQueues } from '#domain/foundation/durable/task-queues.ts';
import { buildBundle } from './build-bundle.ts';
import { createCanceller, createStarter } from './canceller.ts';
import { createTenantWorkflows } from './tenant-workflows.ts';
import { connectLazily } from './client.ts';
import { createDispatcher, relayPauseMs, startRelay } from './dispatcher.ts';
import { createInspector } from './inspector.ts';
import { opaqueFailures } from './interceptors/opaque-failures.ts';
import { Polling } from './polling.ts';
import { sdkLogger } from './sdk-logger.ts';
import { upkeepOptions } from './upkeep-options.ts';
import { startUpkeep } from './upkeep.ts';
import { batchOptions, interactiveOptions, synchronisationOptions, watchOptions } from './worker-options.ts';

/**
 * Documents of connectors that begin in a second while turns of responses do; a quarter of it under pressure, and up to
 * the eightfold without.
 */
const documentsPerSecond = 200;
/** The same of documents that are uploaded, each of which is a workflow. */
const uploadsPerSecond = 8;
/** The same of passages that the builtin model embeds, each some 40 ms of a processor. */
const passagesPerSecond = 20;

limitHeapGrowth();
const config = parseWorkerConfig(process.env);
const logger = createLogger('worker', config.LOG_LEVEL);
armFailpointFrom(config.PLATFORM_FAILPOINT);
if (config.EXIT_WITH_PARENT === '1') {
  exitWithParent();
}
Runtime.install({ logger: sdkLogger(logger), shutdownSignals: [] });

const metrics = createTelemetry();
const watch = new ConnectionWatch(() => metrics.hungCall({ target: 'postgresql' }));
metrics.observeConnections(() => watch.connections);
/** For interactive work: a hanging call blocks it for little longer than this timeout. */
const promptly = { statementTimeoutMs: 5_000, watch };
/** For sweeps, which read all rows. */
const patiently = { statementTimeoutMs: 30_000, watch };
const database = new Database({ url: config.DATABASE_URL, ...promptly, poolSize: 12 });
// Checked before the first use of the pool.
await ensureRestrictedRole(database);
const orm = createOrm({ url: config.DATABASE_URL, ...promptly, poolSize: 12 });
// A pool of its own, so that sweeps and responses never wait for each other's connections.
const upkeepOrm = createOrm({ url: config.DATABASE_URL, ...patiently, poolSize: 3 });
const upkeepDatabase = new Database({ url: config.DATABASE_URL, ...patiently, poolSize: 2 });
const purgeOrm = createOrm({ url: config.DATABASE_PURGE_URL, ...patiently, poolSize: 4 });
const erasureBatches = erasureDatabase(config.DATABASE_PURGE_URL, watch);
const secrets = new Secrets(config.MASTER_KEY);
metrics.observeQueueAge(() => outboxAgeSeconds(database));
metrics.observeUpkeep(() => readUpkeepState(upkeepDatabase, sweepNames));

const onTemporalHung = () => metrics.hungCall({ target: 'temporal' });
const client = connectLazily({
  address: config.TEMPORAL_ADDRESS,
  namespace: config.TEMPORAL_NAMESPACE,
  onHung: onTemporalHung,
});
const relayDependencies = { client, database, metrics, logger };
const dispatcher = createDispatcher(relayDependencies);
const unitOfWork = new UnitOfWork(orm, sendAfterCommit(dispatcher));
const shares = new AnswerShares();
const pressure = processorPressure();
const egress = { fetch: createGuardedFetch(config.EGRESS_ALLOW), onLimitExceeded: metrics.answerCutOff };
const openStored = (use: CredentialUse) =>
  unitOfWork.inTenant(use.tenantId, (em) => openCredential({ em, secrets }, use));
const stored = createStoredCredentials({ ...egress, open: openStored });
const authorizationServers = createAuthorizationServers({ ...egress, shares, dialects: sourceDialects() });
const connections = useConnections({ unitOfWork, secrets, authorizationServers });
const credential = createCredentials(config.MODEL_CREDENTIALS, process.env);
const vendor = { ...egress, shares, credential, stored };
const builtinEmbedding = createBuiltinModel(modelFilesSource(config, process.env), {
  onChange: (state) =>
    logger.info({ embeddingModel: state.is === 'unavailable' ? state.reason : state.is }, 'embedding model'),
  onProcessLost: (reason) => logger.warn({ reason }, 'a process that embeds passages failed'),
});
builtinEmbedding.start();
const purge = new UnitOfWork(purgeOrm);
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
const pace = new ContendedPace({
  burst: config.TURN_BURST_PER_TENANT,
  perSecond: config.TURNS_PER_SECOND_PER_TENANT,
  pressure,
});
const bulkPressure = anyPressure(busyLoop(), pressure);
/** Bulk work gives way while a turn or a tool call of a response has begun within the last seconds. */
const giveWay = (perSecond: number) =>
  new BulkTurns({
    rate: new AdaptiveRate({ perSecond, pressure: bulkPressure, isDemandPaced: true }),
    isContended: () => pace.isUsed(),
  });
const passageTurns = giveWay(passagesPerSecond);
const activities = createActivities({
  database,
  unitOfWork,
  purge,
  batches: erasureBatches,
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
  pace,
  bulk: giveWay(documentsPerSecond),
  uploads: giveWay(uploadsPerSecond),
  extractor: createTextExtractor(),
  sources,
  embedders: createEmbedders({
    ...vendor,
    builtin: builtinEmbedding,
    takeTurn: (tenantId, signal) => passageTurns.take(tenantId, signal),
  }),
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
  unitOfWork: new UnitOfWork(upkeepOrm, sendAfterCommit(dispatcher)),
  purge,
  inspector: createInspector(client),
  canceller: createCanceller(client),
  starter: createStarter(client),
  authorizationServers,
  secrets,
  anchors,
  eventRetentionDays: config.EVENT_RETENTION_DAYS,
};

const workflowBundle =
  config.WORKFLOW_BUNDLE === undefined ? await buildBundle() : { codePath: config.WORKFLOW_BUNDLE };
const pulse = new DatabasePulse(database, () => polling.check());
const polling = new Polling({
  group: {
    address: config.TEMPORAL_ADDRESS,
    namespace: config.TEMPORAL_NAMESPACE,
    workflowBundle,
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
const relay = startRelay(relayDependencies, dispatcher, {
  pauseMs: relayPauseMs.worker,
  starts: new AdaptiveRate({
    perSecond: config.STARTS_PER_SECOND_PER_TENANT,
    pressure,
  }),
});
const upkeep = startUpkeep({
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
});

const server = createServer((request, response) => {
  void answer(request.url ?? '/').then(({ status, text }) =>
    response.writeHead(status, instanceHeaders(config.INSTANCE_ID)).end(text),
  );
});
server.listen(config.WORKER_PORT, config.HOST);

/** `/readyz` reports whether the worker takes work, and which server is missing; `/metrics` is for Prometheus. */
async function answer(path: string): Promise<{ status: number; text: string }> {
  switch (path) {
    case '/healthz':
      return { status: 200, text: 'ok\n' };
    case '/readyz':
      return polling.missing.length === 0
        ? { status: 200, text: 'ok\n' }
        : { status: 503, text: `${polling.missing.join(' ')}\n` };
    case '/metrics':
      return { status: 200, text: await metrics.scrape() };
    default:
      return { status: 404, text: 'not found\n' };
  }
}

closeWithGrace({ delay: 25_000, logger: false }, async ({ err, signal }) => {
  if (err === undefined) {
    logger.info({ signal }, 'stopping');
  } else {
    logger.fatal(describeFault(err), 'stopping after a fault');
  }
  await Promise.allSettled([polling.stop(), relay.stop(), upkeep.stop(), pulse.stop()]);
  server.close();
  await Promise.allSettled([
    orm.close(true),
    upkeepOrm.close(true),
    purgeOrm.close(true),
    erasureBatches.close(),
    database.close(),
    upkeepDatabase.close(),
    client.connection.close(),
  ]);
});

pulse.start();
polling.start();
