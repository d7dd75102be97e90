import { createServer } from 'node:http';
import closeWithGrace from 'close-with-grace';
import { NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { createActivities } from '#activities/index.ts';
import { StreamWriter } from '#activities/responses/stream-writer.ts';
import { fileAnchors } from '#adapters/anchors/file-anchors.ts';
import { createTextExtractor } from '#adapters/extraction/text-extractor.ts';
import { anthropic } from '#adapters/models/anthropic.ts';
import { builtinModel } from '#adapters/models/builtin.ts';
import { createCredentials } from '#adapters/models/credentials.ts';
import { google } from '#adapters/models/google.ts';
import { createPresidio } from '#adapters/governance/presidio.ts';
import { createGuardedFetch } from '#adapters/egress/guarded-fetch.ts';
import { createTraceExporter } from '#adapters/observability/otlp-exporter.ts';
import { modelRouter } from '#adapters/models/model-router.ts';
import { openAi } from '#adapters/models/openai.ts';
import { openAiCompatible } from '#adapters/models/openai-compatible.ts';
import { createToolServers } from '#adapters/tools/mcp-client.ts';
import { exitWithParent } from '#adapters/process/exit-with-parent.ts';
import { createLogger, describeFault } from '#adapters/telemetry/logger.ts';
import { createTelemetry } from '#adapters/telemetry/metrics.ts';
import { parseWorkerConfig } from '#domain/kernel/config.ts';
import { armFailpointFrom } from '#domain/kernel/failpoint.ts';
import { Secrets } from '#domain/kernel/secrets.ts';
import { outboxAgeSeconds } from '#domain/durable/outbox.ts';
import { Database } from '#domain/persistence/database.ts';
import { createOrm } from '#domain/persistence/orm.ts';
import { UnitOfWork } from '#domain/persistence/unit-of-work.ts';
import { taskQueues } from '#workflows/shared/task-queues.ts';
import { buildBundle } from './build-bundle.ts';
import { connectLazily } from './client.ts';
import { createDispatcher, startRelay } from './dispatcher.ts';
import { createInspector } from './inspector.ts';
import { opaqueFailures } from './interceptors/opaque-failures.ts';
import { keepSchedules } from './schedules.ts';
import { batchOptions, interactiveOptions, recoveryOptions } from './worker-options.ts';

const config = parseWorkerConfig(process.env);
const logger = createLogger('worker', config.LOG_LEVEL);
armFailpointFrom(config.PLATFORM_FAILPOINT);
if (config.EXIT_WITH_PARENT === '1') {
  exitWithParent();
}
Runtime.install({
  logger: {
    log: () => {},
    trace: () => {},
    debug: () => {},
    info: () => {},
    warn: (message) => logger.warn({ sdk: message }, 'temporal'),
    error: (message) => logger.error({ sdk: message }, 'temporal'),
  },
  shutdownSignals: [],
});

const workerTimeouts = { statementTimeoutMs: 30_000 };
const database = new Database({ url: config.DATABASE_URL, ...workerTimeouts, poolSize: 12 });
await database.assertBehindTheWall();
const orm = createOrm({ url: config.DATABASE_URL, ...workerTimeouts, poolSize: 12 });
const purgeOrm = createOrm({ url: config.DATABASE_PURGE_URL, ...workerTimeouts, poolSize: 2 });
const unitOfWork = new UnitOfWork(orm);
const secrets = new Secrets(config.MASTER_KEY);
const metrics = createTelemetry();
metrics.observeQueueAge(() => outboxAgeSeconds(database));

const client = connectLazily({ address: config.TEMPORAL_ADDRESS, namespace: config.TEMPORAL_NAMESPACE });
const relayDependencies = { client, database, metrics, logger };
const dispatcher = createDispatcher(relayDependencies);
const guardedFetch = createGuardedFetch(config.EGRESS_ALLOW);
const vendor = {
  fetch: guardedFetch,
  credential: createCredentials(config.MODEL_CREDENTIALS, process.env),
};
const activities = createActivities({
  database,
  unitOfWork,
  purge: new UnitOfWork(purgeOrm),
  secrets,
  metrics,
  dispatcher,
  names: createPresidio({ fetch: guardedFetch }),
  anchors: fileAnchors(config.ANCHOR_FILE),
  eventRetentionDays: config.EVENT_RETENTION_DAYS,
  inspector: createInspector(client),
  writer: new StreamWriter(database),
  extractor: createTextExtractor(),
  toolServers: createToolServers({
    fetch: guardedFetch,
    credentials: config.TOOL_CREDENTIALS,
    env: process.env,
  }),
  traces: createTraceExporter({ fetch: guardedFetch, defaultBaseUrl: config.TRACING_BASE_URL }),
  models: modelRouter({
    openai: openAi(vendor),
    anthropic: anthropic(vendor),
    google: google(vendor),
    openai_compatible: openAiCompatible(vendor),
    builtin: builtinModel,
  }),
});

const [connection, workflowBundle] = await Promise.all([
  NativeConnection.connect({ address: config.TEMPORAL_ADDRESS }),
  config.WORKFLOW_BUNDLE === undefined ? buildBundle() : { codePath: config.WORKFLOW_BUNDLE },
]);
const shared = {
  connection,
  namespace: config.TEMPORAL_NAMESPACE,
  workflowBundle,
  activities,
  interceptors: { activity: [() => ({ inbound: opaqueFailures(logger) })] },
  ...recoveryOptions,
};
const workers = await Promise.all([
  Worker.create({ ...shared, ...interactiveOptions, taskQueue: taskQueues.interactive }),
  Worker.create({ ...shared, ...batchOptions, taskQueue: taskQueues.batch }),
]);
const relay = startRelay(relayDependencies, dispatcher);
const schedules = keepSchedules(client, {
  maintenanceSeconds: config.SWEEP_INTERVAL_SECONDS,
  sealSeconds: config.SEAL_INTERVAL_SECONDS,
  anchorSeconds: config.ANCHOR_INTERVAL_SECONDS,
  logger,
});
const running = Promise.all(workers.map((worker) => worker.run()));

const server = createServer((request, response) => {
  void answer(request.url ?? '/').then(({ status, text }) => response.writeHead(status).end(text));
});
server.listen(config.WORKER_PORT, config.HOST);

/** `/healthz` and `/readyz` say that this process polls, `/metrics` is for Prometheus. */
async function answer(path: string): Promise<{ status: number; text: string }> {
  switch (path) {
    case '/healthz':
    case '/readyz':
      return { status: 200, text: 'ok\n' };
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
  schedules.stop();
  workers.forEach((worker) => worker.shutdown());
  await Promise.allSettled([running, relay.stop()]);
  server.close();
  await Promise.allSettled([orm.close(true), purgeOrm.close(true), database.close(), connection.close()]);
});
logger.info({ queues: Object.values(taskQueues) }, 'worker ready');
await running;
