import {
  createKnowledgeActivities,
  type DocumentDependencies,
} from './knowledge/create-knowledge-activities.ts';

import {
  createConnectorActivities,
  type ConnectorDependencies,
} from './connectors/create-connector-activities.ts';
import {
  createDeletionActivities,
  type DeletionDependencies,
} from './tenant-deletion/create-deletion-activities.ts';
import {
  createScopeErasureActivities,
  type ScopeErasureDependencies,
} from './scope-erasure/create-scope-erasure-activities.ts';
import { keepAlive } from './keep-alive.ts';
import { exportTrace, type TraceDependencies } from './observability/export-trace.ts';
import {
  deliverNotifications,
  type NotificationDependencies,
} from './notifications/deliver-notifications.ts';
import {
  createResponseActivities,
  type ResponseDependencies,
} from './responses/create-response-activities.ts';
import { discoverTools, type DiscoveryDependencies } from './tools/discover-tools.ts';
import type { PageInput } from '#workflows/fan-out-event/messages.ts';
import type { DiscoverToolsInput } from '#workflows/discover-tools/messages.ts';
import type { TraceResponseInput } from '#workflows/trace-response/messages.ts';

export type ActivityDependencies = ResponseDependencies &
  DocumentDependencies &
  ConnectorDependencies &
  DiscoveryDependencies &
  TraceDependencies &
  NotificationDependencies &
  DeletionDependencies &
  ScopeErasureDependencies;

/** All activities except maintenance; workflows refer to them by `Activities` alone. */
export function createActivities(deps: ActivityDependencies) {
  return {
    ...createResponseActivities(deps),
    ...createKnowledgeActivities(deps),
    ...createConnectorActivities(deps),
    ...createDeletionActivities(deps),
    ...createScopeErasureActivities(deps),
    discoverTools: (input: DiscoverToolsInput) => keepAlive(() => discoverTools(deps, input)),
    exportTrace: (input: TraceResponseInput) => keepAlive(() => exportTrace(deps, input)),
    deliverNotifications: (input: PageInput) => deliverNotifications(deps, input),
  };
}

export type Activities = ReturnType<typeof createActivities>;
