import { Connector } from '#domain/knowledge/connectors/connector.entity.ts';
import { sourceOf } from '#domain/knowledge/connectors/connector-spec.ts';
import { reportChange } from '#domain/knowledge/connectors/report-change.ts';
import { SourceFailure, type Source } from '#domain/knowledge/connectors/source.ts';
import { readWatchState, watchedRefs } from '#domain/knowledge/connectors/watched-connector.ts';
import type { WatchSourceResult } from '#workflows/run-connector/messages.ts';
import { ChangeReporter } from './change-reporter.ts';
import { paceOf, pause, type SourceDependencies } from './run-steps.ts';
import { WatchGuard, type WatchedSource } from './watch-guard.ts';
import type { Cause, WatchLimits } from './watch-limits.ts';
import type { WatchPlaces } from './watch-places.ts';

export interface WatchDependencies extends SourceDependencies {
  places: WatchPlaces;
  limits: WatchLimits;
}

interface Ids {
  tenantId: string;
  connectorId: string;
}

interface Round {
  onChange: () => void;
  onSubscribed: () => void;
  /** On the clock of `performance`. */
  endsAt: number;
  signal: AbortSignal;
}

/** Of a subscription: as the result of the watch, or it is begun again. */
type RoundEnd = WatchSourceResult['is'] | 'again';

/** A pause before the next subscription; a longer one is a failure. */
const maxPauseMs = 30_000;
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
  const ask = (cause: Cause) =>
    unitOfWork.inTenant(ids.tenantId, (em) => reportChange(em, ids.connectorId, limits.pace[cause]));
  const { debounceMs, again } = limits;
  const reporterOf = (cause: Cause) => new ChangeReporter({ ask: () => ask(cause), debounceMs, retryMs });
  // Apart from each other: what a gap may have hidden does not wait for the pace of what is reported.
  const [changes, gaps] = [reporterOf('change'), reporterOf('gap')];
  const endsAt = performance.now() + limits.watchMs;
  let wasHeld = false;
  let cuts = 0;
  try {
    for (;;) {
      let subscribedAt = Infinity;
      const onSubscribed = () => {
        subscribedAt = performance.now();
        gaps.note();
      };
      const onChange = () => changes.note();
      const is = await subscribeOnce(deps, ids, { onChange, onSubscribed, endsAt, signal });
      const heldMs = performance.now() - subscribedAt;
      const isHeld = heldMs >= limits.minHeldMs;
      wasHeld ||= isHeld;
      if (is === 'failed' && isHeld) {
        // The server may end a subscription often, as a proxy does after a minute: that alone is no failure.
        cuts = heldMs >= again.afterMs ? 1 : cuts + 1;
      } else if (is !== 'again') {
        return { is, wasHeld };
      }
      const doublings = is === 'again' ? 0 : cuts - 1;
      const pauseMs = Math.min(again.minMs * 2 ** doublings, again.maxMs);
      await pause(pauseMs * (1 + Math.random()), signal);
    }
  } finally {
    release();
    const [isLeft] = await Promise.all([changes.stop(), gaps.stop()]);
    if (isLeft && !signal.aborted) {
      // Beyond its pace it is left to the run after the next subscription.
      await ask('change');
    }
  }
}

async function subscribeOnce(
  deps: WatchDependencies,
  { tenantId, connectorId }: Ids,
  { onChange, onSubscribed, endsAt, signal }: Round,
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
  const guard = new WatchGuard(watched, { read, endsAt, checkMs: limits.checkMs });
  let source: Source | null = null;
  try {
    const use = await unitOfWork.inTenant(tenantId, async (em) => {
      const connector = await em.findOneOrFail(Connector, { id: connectorId });
      return sourceOf(em, sources, connector, connector);
    });
    const { host } = sources.endpoint(use.providerSlug, use.scopeConfig, use.toolServer);
    const either = AbortSignal.any([signal, guard.signal]);
    const pace = paceOf(unitOfWork, { tenantId, host, maxWaitMs: maxPauseMs });
    await pace(1, either);
    source = await sources.open(use);
    if (source.watch === undefined) {
      return 'unsupported';
    }
    const input = {
      refs: watched.refs,
      pace: (count: number) => pace(count, either),
      onSubscribed: (usesRefs: boolean) => {
        guard.usesRefs = usesRefs;
        onSubscribed();
      },
      onChange,
    };
    const end = await source.watch(input, either);
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
