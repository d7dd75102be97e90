import { Context } from '@temporalio/activity';
import type { RunConnectorInput, WatchSourceResult } from '#workflows/run-connector/messages.ts';
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
    watchSource: async ({ tenantId, connectorId }: RunConnectorInput): Promise<WatchSourceResult> => {
      const context = Context.current();
      const beat = setInterval(() => context.heartbeat(), beatEveryMs);
      try {
        const ids = { tenantId, connectorId };
        return await watchSource({ ...deps, places, limits: all }, ids, context.cancellationSignal);
      } finally {
        clearInterval(beat);
      }
    },
  };
}

export type WatchActivities = ReturnType<typeof createWatchActivities>;
