import { CancellationScope, isCancellation, log, proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { WatchActivities } from '#activities/connectors/create-watch-activities.ts';
import { watchQueueOf } from '#domain/foundation/durable/task-queues.ts';
import { sourceWatch } from '../shared/activity-options.ts';
import type { RunConnectorInput, WatchSourceResult } from './messages.ts';

/** From one watch that failed to the next: doubled with each failure in a row. */
const failurePause = { minMs: 30_000, maxMs: 600_000 };
/** A source without subscriptions is asked once more after this time; a new scope or credential ends the pause. */
const unsupportedMs = 86_400_000;
/** For a connector that is not watched any more. */
const endedMs = 600_000;
/** For a place on a worker: doubled with each try in a row, up to the time after which a watch leaves its place. */
const crowdedPause = { minMs: 600_000, maxMs: 6 * 3_600_000 };

/** The watch of a connector's source: an activity that is held for hours, and begun again after a pause. */
export class SourceWatch {
  readonly #input: RunConnectorInput;
  readonly #onEnd: () => void;
  #scope: CancellationScope | null = null;
  #until: number;
  #failures: number;
  /** Tries in a row that found no place: a change of the connector makes none. */
  #crowded: number;
  #last: WatchSourceResult['is'] | null = null;

  /** @param onEnd called when the watch has ended by itself */
  constructor(input: RunConnectorInput, onEnd: () => void) {
    this.#input = input;
    this.#onEnd = onEnd;
    this.#until = input.watch?.until ?? 0;
    this.#failures = input.watch?.failures ?? 0;
    this.#crowded = input.watch?.crowded ?? 0;
  }

  get isHeld(): boolean {
    return this.#scope !== null;
  }

  /** Begins the watch unless it is held. @returns milliseconds until it may begin; null: it is held */
  begin(): number | null {
    if (this.#scope !== null) {
      return null;
    }
    const pauseMs = this.#until - Date.now();
    if (pauseMs > 0) {
      return pauseMs;
    }
    const scope = new CancellationScope();
    this.#scope = scope;
    void scope
      .run(() => this.#watch())
      .catch((error: unknown): WatchSourceResult => {
        if (!isCancellation(error)) {
          log.warn('the watch of a source failed');
        }
        return { is: 'failed', wasHeld: false };
      })
      .then((result) => {
        // A watch that was ended from here says nothing of the next one.
        if (this.#scope === scope) {
          this.#note(result);
        }
      });
    return null;
  }

  /** Ends the watch without waiting for its activity, and with it any pause. */
  end(): null {
    this.#scope?.cancel();
    this.#scope = null;
    this.#last = null;
    this.resume();
    return null;
  }

  /** The source may be another one: no pause of the earlier one holds. */
  resume(): void {
    this.#until = 0;
    this.#failures = 0;
  }

  /** Of the run that continues this one. */
  inputOfNext(): RunConnectorInput {
    const { tenantId, connectorId } = this.#input;
    const watch = { until: this.#until, failures: this.#failures, crowded: this.#crowded };
    return { tenantId, connectorId, ...(watch.until > 0 && { watch }) };
  }

  /** For the current details of the workflow. */
  describe(): string[] {
    if (this.isHeld) {
      return ['Its source is watched for changes.'];
    }
    const minutes = Math.ceil((this.#until - Date.now()) / 60_000);
    if (minutes <= 0) {
      return [];
    }
    const why = this.#last === 'unsupported' ? 'reports no changes' : 'is not watched';
    return [`Its source ${why}: tried again in ${minutes} minutes.`];
  }

  #watch(): Promise<WatchSourceResult> {
    const { tenantId, connectorId } = this.#input;
    const taskQueue = watchQueueOf(workflowInfo().taskQueue);
    const { watchSource } = proxyActivities<WatchActivities>({ ...sourceWatch, taskQueue });
    return watchSource.executeWithOptions({ summary: 'watch the source for changes' }, [
      { tenantId, connectorId },
    ]);
  }

  #note({ is, wasHeld }: WatchSourceResult): void {
    this.#scope = null;
    this.#last = is;
    this.#failures = is === 'failed' ? (wasHeld ? 1 : this.#failures + 1) : 0;
    this.#crowded = is === 'crowded' ? this.#crowded + 1 : 0;
    this.#until = Date.now() + this.#pauseMs(is);
    this.#onEnd();
  }

  #pauseMs(is: WatchSourceResult['is']): number {
    switch (is) {
      case 'expired':
        return 0;
      case 'unsupported':
        return unsupportedMs;
      case 'ended':
        return endedMs;
      case 'crowded': {
        // Of many watches that wait not all try at once. `Math.random` of a workflow is the same in each replay.
        const { minMs, maxMs } = crowdedPause;
        return Math.min(minMs * 2 ** (this.#crowded - 1), maxMs) * (1 - Math.random() / 4);
      }
      case 'failed':
        return Math.min(failurePause.minMs * 2 ** (this.#failures - 1), failurePause.maxMs);
    }
  }
}
