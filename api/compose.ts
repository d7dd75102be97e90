import type { Logger } from 'pino';
import { createLogger } from '#adapters/telemetry/logger.ts';
import { createTelemetry, type Telemetry } from '#adapters/telemetry/metrics.ts';
import { outboxAgeSeconds } from '#domain/durable/outbox.ts';
import type { GatewayConfig } from '#domain/kernel/config.ts';
import type { Dispatcher } from '#domain/kernel/dispatcher.ts';
import { Secrets } from '#domain/kernel/secrets.ts';
import { Database } from '#domain/persistence/database.ts';
import { createOrm } from '#domain/persistence/orm.ts';
import { UnitOfWork } from '#domain/persistence/unit-of-work.ts';
import { connectLazily } from '#temporal/client.ts';
import { createDispatcher, startRelay } from '#temporal/dispatcher.ts';
import type { OpenStreams } from './sse/response-stream.ts';
import { StreamHub } from './sse/stream-hub.ts';

/** Everything that a gateway's routes and plugins may use. */
export interface GatewayDependencies {
  config: GatewayConfig;
  logger: Logger;
  database: Database;
  unitOfWork: UnitOfWork;
  secrets: Secrets;
  dispatcher: Dispatcher;
  hub: StreamHub;
  telemetry: Telemetry;
  openStreams: OpenStreams;
  /** Set when the process has been asked to stop: readiness says no. */
  draining: { value: boolean };
}

const gatewayTimeouts = { statementTimeoutMs: 5_000 };

/** Wires a gateway by hand, top to bottom. @throws when the database login is not behind the wall */
export async function compose(
  config: GatewayConfig,
): Promise<GatewayDependencies & { close: () => Promise<void> }> {
  const logger = createLogger('gateway', config.LOG_LEVEL);
  const database = new Database({ url: config.DATABASE_URL, ...gatewayTimeouts });
  await database.assertBehindTheWall();
  const orm = createOrm({ url: config.DATABASE_URL, ...gatewayTimeouts });
  const unitOfWork = new UnitOfWork(orm);
  const telemetry = createTelemetry();
  telemetry.observeQueueAge(() => outboxAgeSeconds(database));
  const client = connectLazily({ address: config.TEMPORAL_ADDRESS, namespace: config.TEMPORAL_NAMESPACE });
  const relayDependencies = { client, database, metrics: telemetry, logger };
  const dispatcher = createDispatcher(relayDependencies);
  const relay = startRelay(relayDependencies, dispatcher);
  const hub = new StreamHub(database, logger);
  await hub.start();
  return {
    config,
    logger,
    database,
    unitOfWork,
    secrets: new Secrets(config.MASTER_KEY),
    dispatcher,
    hub,
    telemetry,
    openStreams: new Set(),
    draining: { value: false },
    close: async () => {
      await Promise.allSettled([relay.stop(), hub.stop()]);
      await Promise.allSettled([
        orm.close(true),
        database.close(),
        client.connection.close(),
        telemetry.close(),
      ]);
    },
  };
}
