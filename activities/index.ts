import {
  createMaintenanceActivities,
  type MaintenanceDependencies,
} from './maintenance/create-maintenance-activities.ts';
import { createResponseActivities } from './responses/create-response-activities.ts';
import type { TurnDependencies } from './responses/run-turn.ts';

export type ActivityDependencies = TurnDependencies & MaintenanceDependencies;

/** Every activity of the platform; workflows know them by `Activities` alone. */
export function createActivities(deps: ActivityDependencies) {
  return { ...createResponseActivities(deps), ...createMaintenanceActivities(deps) };
}

export type Activities = ReturnType<typeof createActivities>;
