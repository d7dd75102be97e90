import type { Logger } from 'pino';
import { createGuardedConnect } from '#adapters/egress/guarded-connect.ts';
import { createGuardedFetch } from '#adapters/egress/guarded-fetch.ts';
import { createAuthorizationServers } from '#adapters/authorization/authorization-servers.ts';
import { createBuiltinModel, modelFilesSource } from '#adapters/embeddings/create-builtin-model.ts';
import { createEmbedders } from '#adapters/embeddings/create-embedders.ts';
import { createRerankers } from '#adapters/reranking/create-rerankers.ts';
import { createStoredCredentials } from '#adapters/credentials/stored-credentials.ts';
import { sourceDialects } from '#adapters/sources/dialects.ts';
import { createSourceProviders } from '#adapters/sources/create-source-providers.ts';
import { namedRoots } from '#adapters/sources/named-roots.ts';
import type { SourceProvider } from '#adapters/sources/provider.ts';
import { providers } from '#adapters/sources/providers.ts';
import { useConnections } from '#domain/capabilities/connection-tokens/use-connections.ts';
import {
  discoveryMs,
  requestMs,
  type AuthorizationServers,
} from '#domain/capabilities/connections/authorization-servers.ts';
import type { CredentialUse } from '#domain/capabilities/credentials/credential-source.ts';
import { openCredential } from '#domain/capabilities/credentials/open-credential.ts';
import { createPresidio } from '#adapters/governance/presidio.ts';
import { createRedactionThreads, gatewayRedaction } from '#adapters/governance/redaction-threads.ts';
import { createOidcClient } from '#adapters/identity/oidc-client.ts';
import { processorPressure } from '#adapters/process/processor-pressure.ts';
import { createLogger } from '#adapters/telemetry/logger.ts';
import { createTelemetry, type Telemetry } from '#adapters/telemetry/metrics.ts';
import { outboxAgeSeconds } from '#domain/foundation/durable/outbox.ts';
import { sendAfterCommit } from '#domain/foundation/durable/send-after-commit.ts';
import type { GatewayConfig } from '#domain/foundation/kernel/config.ts';
import type { NameRecogniser } from '#domain/governance/redaction/found-names.ts';
import type { LongTextRedactor } from '#domain/governance/redaction/redact-texts.ts';
import { AdaptiveRate } from '#domain/foundation/kernel/adaptive-rate.ts';
import { ContendedPace } from '#domain/foundation/kernel/contended-pace.ts';
import type { Dispatcher } from '#domain/foundation/durable/dispatcher.ts';
import { CredentialCache } from '#domain/identity/api-keys/credential-cache.ts';
import { Secrets } from '#domain/foundation/kernel/secrets.ts';
import { ConnectionWatch } from '#domain/foundation/persistence/connection-watch.ts';
import { Database } from '#domain/foundation/persistence/database.ts';
import { createOrm } from '#domain/operations/schema/orm.ts';
import { ensureRestrictedRole } from '#domain/foundation/persistence/ensure-restricted-role.ts';
import { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { ResponseRows } from '#domain/responses/store/response-rows.ts';
import type { SourceProviders } from '#domain/knowledge/connectors/source-providers.ts';
import type { Embedders } from '#domain/knowledge/embeddings/embedder.ts';
import type { Rerankers } from '#domain/knowledge/reranking/reranker.ts';
import type { OidcClient } from '#domain/identity/sign-in/oidc-client.ts';
import type { WorkflowReader } from '#domain/operations/workflows/workflow-reader.ts';
import { connectLazily } from '#temporal/client.ts';
import { createDispatcher, relayPauseMs, startRelay } from '#temporal/dispatcher.ts';
import { pacedDispatcher } from '#temporal/paced-dispatcher.ts';
import { createWorkflowReader } from '#temporal/workflow-reader.ts';
import type { OpenStreams } from './sse/response-stream.ts';
import { CheckPlaces, checkLimits } from './limits/check-places.ts';
import { HistoryPlaces } from './limits/history-places.ts';
import { SearchPlaces } from './limits/search-places.ts';
import { StreamHub } from './sse/stream-hub.ts';
import { StreamPlaces } from './sse/stream-places.ts';

/** Dependencies of a gateway's routes and plugins. */
export interface GatewayDependencies {
  config: GatewayConfig;
  logger: Logger;
  database: Database;
  responseRows: ResponseRows;
  unitOfWork: UnitOfWork;
  secrets: Secrets;
  credentialCache: CredentialCache;
  names: NameRecogniser;
  longTexts: LongTextRedactor;
  oidc: OidcClient;
  authorizationServers: AuthorizationServers;
  searchPlaces: SearchPlaces;
  historyPlaces: HistoryPlaces;
  /** Sources of connectors, which the gateway only checks. */
  sources: SourceProviders;
  checkPlaces: CheckPlaces;
  /** Discovery and registration at authorization servers, before a popup is opened. */
  authorizationPlaces: CheckPlaces;
  /** Omitted: searches are by keyword. */
  embedders?: Embedders | undefined;
  /** Omitted: no search is reranked. */
  rerankers?: Rerankers | undefined;
  workflows: WorkflowReader;
  hub: StreamHub;
  telemetry: Telemetry;
  openStreams: OpenStreams;
  streamPlaces: StreamPlaces;
  /** Set when the process was asked to stop: `/readyz` then fails. */
  draining: { value: boolean };
}

const gatewayTimeouts = { statementTimeoutMs: 5_000 };

/** A gateway's parts, with start and stop. */
export interface Gateway extends GatewayDependencies {
  /**
   * Opens connections as soon as the database is reachable, and starts background work.
   * @throws when the login bypasses row-level security
   */
  start(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Wires a gateway by hand, top to bottom. Nothing is connected before `start`.
 * @param sendInstead replaces the dispatcher that sends to Temporal after a commit
 * @param sourceProviders replaces the providers of sources
 */
export function assemble(
  config: GatewayConfig,
  sendInstead?: Dispatcher,
  sourceProviders: readonly SourceProvider[] = providers,
): Gateway {
  const logger = createLogger('gateway', config.LOG_LEVEL);
  const telemetry = createTelemetry();
  const watch = new ConnectionWatch(() => telemetry.hungCall({ target: 'postgresql' }));
  telemetry.observeConnections(() => watch.connections);
  const database = new Database({ url: config.DATABASE_URL, ...gatewayTimeouts, watch });
  const orm = createOrm({ url: config.DATABASE_URL, ...gatewayTimeouts, watch });
  const secrets = new Secrets(config.MASTER_KEY);
  const client = connectLazily({
    address: config.TEMPORAL_ADDRESS,
    namespace: config.TEMPORAL_NAMESPACE,
    onHung: () => telemetry.hungCall({ target: 'temporal' }),
  });
  const relayDependencies = { client, database, metrics: telemetry, logger };
  const dispatcher = createDispatcher(relayDependencies);
  const pace = new ContendedPace({
    burst: config.START_BURST_PER_TENANT,
    perSecond: config.STARTS_PER_SECOND_PER_TENANT,
    maxWaitMs: relayPauseMs.worker,
  });
  const paced = pacedDispatcher({ dispatcher, pace, database, logger });
  const credentialCache = new CredentialCache();
  const hub = new StreamHub(database, logger, credentialCache);
  const egress = { fetch: createGuardedFetch(config.EGRESS_ALLOW), onLimitExceeded: telemetry.answerCutOff };
  const unitOfWork = new UnitOfWork(orm, sendAfterCommit(sendInstead ?? paced));
  const openStored = (use: CredentialUse) =>
    unitOfWork.inTenant(use.tenantId, (em) => openCredential({ em, secrets }, use));
  const stored = createStoredCredentials({ ...egress, open: openStored });
  const dialects = sourceDialects(sourceProviders);
  const authorizationServers = createAuthorizationServers({ ...egress, dialects });
  const builtin = createBuiltinModel(modelFilesSource(config, process.env));
  // Of vendors' keys, the gateway uses stored ones only.
  const vendor = { ...egress, credential: () => undefined, stored };
  const embedders = createEmbedders({ ...vendor, builtin });
  let relay: ReturnType<typeof startRelay> | null = null;
  return {
    config,
    logger,
    database,
    responseRows: new ResponseRows(database),
    unitOfWork,
    embedders,
    rerankers: createRerankers(vendor),
    secrets,
    credentialCache,
    names: createPresidio(egress),
    longTexts: createRedactionThreads(secrets, gatewayRedaction),
    oidc: createOidcClient(egress),
    authorizationServers,
    searchPlaces: new SearchPlaces(),
    historyPlaces: new HistoryPlaces(),
    sources: createSourceProviders({
      ...egress,
      connect: createGuardedConnect(config.EGRESS_ALLOW),
      roots: namedRoots(config.CONNECTOR_ROOTS),
      openCredential: openStored,
      stored,
      connections: useConnections({ unitOfWork, secrets, authorizationServers }),
      providers: sourceProviders,
    }),
    checkPlaces: new CheckPlaces(),
    authorizationPlaces: new CheckPlaces({ ...checkLimits, totalMs: discoveryMs + requestMs }),
    workflows: createWorkflowReader(client),
    hub,
    telemetry,
    openStreams: new Set(),
    streamPlaces: new StreamPlaces(config),
    draining: { value: false },
    start: async () => {
      await ensureRestrictedRole(database);
      telemetry.observeQueueAge(() => outboxAgeSeconds(database));
      relay = startRelay(relayDependencies, dispatcher, {
        pauseMs: relayPauseMs.gateway,
        starts: new AdaptiveRate({
          perSecond: config.STARTS_PER_SECOND_PER_TENANT,
          pressure: processorPressure(),
        }),
      });
      hub.start();
      builtin.start();
    },
    close: async () => {
      builtin.stop();
      await Promise.allSettled([relay?.stop(), hub.stop()]);
      await Promise.allSettled([
        orm.close(true),
        database.close(),
        client.connection.close(),
        telemetry.close(),
      ]);
    },
  };
}
