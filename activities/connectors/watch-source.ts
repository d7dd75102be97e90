import { Connector } from '#domain/knowledge/connectors/connector.entity.ts';
import { sourceOf } from '#domain/knowledge/connectors/connector-spec.ts';
import { reportChange, type ChangePace } from '#domain/knowledge/connectors/report-change.ts';
import { SourceFailure, type Source } from '#domain/knowledge/connectors/source.ts';
import { readWatchState, watchedRefs } from '#domain/knowledge/connectors/watched-connector.ts';
import { takeRequests } from '#domain/knowledge/synchronisation/source-pace.ts';
import type { WatchSourceResult } from '#workflows/run-connector/messages.ts';
import { ChangeReporter, type Cause } from './change-reporter.ts';
import { pause, type SourceDependencies } from './run-steps.ts';
import { WatchGuard, type WatchedSource } from './watch-guard.ts';
import type { WatchPlaces } from './watch-places.ts';

export interface WatchLimits {
  /** A watch ends after this time: its place is for others, too. */
  watchMs: number;
  /** Interval at which scope, credential and status are compared. */
  checkMs: number;
  debounceMs: number;
  /** Of runs that reported changes begin, and of those that a gap between two subscriptions begins. */
  pace: Record<Cause, ChangePace>;
  /** A subscription that ends sooner counts as a failure. */
  minHeldMs: number;
  /** Watches of one tenant on a worker. */
  perTenant: number;
}

export const watchLimits: WatchLimits = {
  watchMs: 6 * 3_600_000,
  checkMs: 5_000,
  debounceMs: 2_000,
  pace: { change: { runs: 2, withinMs: 60_000 }, gap: { runs: 3, withinMs: 900_000 } },
  minHeldMs: 30_000,
  perTenant: 20,
};

export interface WatchDependencies extends SourceDependencies {
  places: WatchPlaces;
  limits: WatchLimits;
}

interface Ids {
  tenantId: string;
  connectorId: string;
}

interface Round {
  reporter: ChangeReporter;
  onSubscribed: () => void;
  /** On the clock of `performance`. */
  endsAt: number;
  signal: AbortSignal;
}

/** Of a subscription: as the result of the watch, or it is begun again. */
type RoundEnd = WatchSourceResult['is'] | 'again';

/** A pause before the next subscription; a longer one is a failure. */
const maxPauseMs = 30_000;
const againMs = 1_000;
const retryMs = 5_000;

/**
 * Holds a subscription to the changes of a connector's source, and has a run queued for what it reports. What changed
 * while no subscription was held is not reported: a run is queued after each beginning of one, within its pace. Never
 * fails because of the source.
 * @throws the signal's reason, and failures of the infrastructure
 */
export async function watchSource(
  deps: WatchDependencies,
  ids: Ids,
  signal: AbortSignal,
): Promise<WatchSourceResult> {
  const { unitOfWork, places, limits } = deps;
  const release = places.take(ids.tenantId);
  if (release === null) {
    return { is: 'crowded', wasHeld: false };
  }
  const ask = (pace: ChangePace) =>
    unitOfWork.inTenant(ids.tenantId, (em) => reportChange(em, ids.connectorId, pace));
  const { debounceMs } = limits;
  const reporter = new ChangeReporter({ ask: (cause) => ask(limits.pace[cause]), debounceMs, retryMs });
  const endsAt = performance.now() + limits.watchMs;
  let wasHeld = false;
  try {
    for (;;) {
      let subscribedAt = Infinity;
      const onSubscribed = () => {
        subscribedAt = performance.now();
        reporter.note('gap');
      };
      const is = await subscribeOnce(deps, ids, { reporter, onSubscribed, endsAt, signal });
      const isHeld = performance.now() - subscribedAt >= limits.minHeldMs;
      wasHeld ||= isHeld;
      if (is !== 'again') {
        // The server may end a subscription often, as a proxy does after a minute: that alone is no failure.
        if (is !== 'failed' || !isHeld) {
          return { is, wasHeld };
        }
      }
      await pause(againMs * (1 + Math.random()), signal);
    }
  } finally {
    release();
    if ((await reporter.stop()) && !signal.aborted) {
      await ask({ runs: 1, withinMs: 0 });
    }
  }
}

async function subscribeOnce(
  deps: WatchDependencies,
  { tenantId, connectorId }: Ids,
  { reporter, onSubscribed, endsAt, signal }: Round,
): Promise<RoundEnd> {
  const { unitOfWork, sources, limits } = deps;
  const read = (before: WatchedSource | null) =>
    unitOfWork.inTenant(tenantId, async (em): Promise<WatchedSource | null> => {
      const state = await readWatchState(em, connectorId);
      if (state === null) {
        return null;
      }
      const refs = before?.synced === state.synced ? before.refs : await watchedRefs(em, connectorId);
      return { ...state, refs };
    });
  const watched = await read(null);
  if (watched === null) {
    return 'ended';
  }
  const connector = await unitOfWork.inTenant(tenantId, (em) =>
    em.findOneOrFail(Connector, { id: connectorId }),
  );
  const guard = new WatchGuard(watched, { read, endsAt, checkMs: limits.checkMs });
  let source: Source | null = null;
  try {
    const { scopeConfig, credentialId = null, clientCredentialId = null } = connector;
    const { host } = sources.endpoint(connector.providerSlug, scopeConfig);
    const taken = { tenantId, host: host ?? '', count: 1 };
    const waitMs = host === null ? 0 : await unitOfWork.inTenant(tenantId, (em) => takeRequests(em, taken));
    if (waitMs > maxPauseMs) {
      return 'failed';
    }
    await pause(waitMs, signal);
    source = await sources.open(sourceOf(connector, { scopeConfig, credentialId, clientCredentialId }));
    if (source.watch === undefined) {
      return 'unsupported';
    }
    const input = {
      refs: watched.refs,
      onSubscribed,
      onChange: () => reporter.note('change'),
    };
    const end = await source.watch(input, AbortSignal.any([signal, guard.signal]));
    return end === 'unsupported' ? end : 'failed';
  } catch (error) {
    signal.throwIfAborted();
    if (guard.verdict !== null) {
      return guard.verdict;
    }
    if (error instanceof SourceFailure) {
      return 'failed';
    }
    throw error;
  } finally {
    guard.stop();
    await source?.close?.().catch(() => {});
  }
}
