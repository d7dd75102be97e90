import { createDocumentActivities } from './documents/create-document-activities.ts';
import type { DocumentDependencies } from './documents/ingest-document.ts';
import {
  createMaintenanceActivities,
  type MaintenanceDependencies,
} from './maintenance/create-maintenance-activities.ts';
import { createResponseActivities } from './responses/create-response-activities.ts';
import type { TurnDependencies } from './responses/run-turn.ts';

export type ActivityDependencies = TurnDependencies & DocumentDependencies & MaintenanceDependencies;

/** Every activity of the platform; workflows know them by `Activities` alone. */
export function createActivities(deps: ActivityDependencies) {
  return {
    ...createResponseActivities(deps),
    ...createDocumentActivities(deps),
    ...createMaintenanceActivities(deps),
  };
}

export type Activities = ReturnType<typeof createActivities>;
