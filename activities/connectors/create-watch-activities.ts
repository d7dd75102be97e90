import type { RunConnectorInput, WatchSourceResult } from '#workflows/run-connector/messages.ts';
import { keepAlive } from '../keep-alive.ts';
import type { SourceDependencies } from './run-steps.ts';
import { watchLimits, type WatchLimits } from './watch-limits.ts';
import { WatchPlaces } from './watch-places.ts';
import { watchSource } from './watch-source.ts';

const beatEveryMs = 5_000;

/** The activities of the queue for watches. `limits` overrides those of production. */
export function createWatchActivities(deps: SourceDependencies, limits: Partial<WatchLimits> = {}) {
  const all = { ...watchLimits, ...limits };
  const places = new WatchPlaces(all.perTenant);
  return {
    watchSource: ({ tenantId, connectorId }: RunConnectorInput): Promise<WatchSourceResult> =>
      keepAlive(
        ({ signal }) => watchSource({ ...deps, places, limits: all }, { tenantId, connectorId }, signal),
        beatEveryMs,
      ),
  };
}

export type WatchActivities = ReturnType<typeof createWatchActivities>;
