import { silent } from './scripts.ts';
import type { Held, Struck } from './strike.ts';
import type { Attempt } from './verify.ts';

/** Whether readers had a delta of an item before the kill and got another one of the same item after it. */
export function fellBetweenDeltas({ live, boundary }: Held): boolean {
  const deltas = live.heard.filter((heard) => heard.type === 'response.output_text.delta');
  const before = new Set(deltas.filter((heard) => heard.n < boundary).map((heard) => heard.itemId));
  return deltas.some((heard) => heard.n >= boundary && before.has(heard.itemId));
}

export interface WorkerKills {
  betweenDeltas: number;
  /** Over a model turn, but not between two deltas of one item (before its first, or the item was given up). */
  otherwise: number;
  total: number;
}

export function distribute(struck: readonly Struck[]): WorkerKills {
  const kills = struck.filter(({ strike }) => strike.kind === 'worker');
  const betweenDeltas = kills.filter(({ held }) => held.some(fellBetweenDeltas)).length;
  return { betweenDeltas, otherwise: kills.length - betweenDeltas, total: kills.length };
}

export interface Recovery {
  /** Milliseconds from a worker's kill to the first event that another worker wrote, as the client got it. */
  nextEvent: number[];
  /** Milliseconds from a worker's kill to the beginning of the next attempt at the turn. */
  nextAttempt: number[];
}

const settleMs = 6_000;

/**
 * How soon work went on after a worker's kill with another one standing by. Only kills with no other kill around
 * them count: of two at once neither tells. A model that begins from zero is silent while it repeats what is
 * there already, so its next event tells of the model and is left out; its next attempt counts.
 */
export function measureRecovery(struck: readonly Struck[], attempts: readonly Attempt[]): Recovery {
  const recovery: Recovery = { nextEvent: [], nextAttempt: [] };
  const byResponse = Map.groupBy(attempts, (attempt) => attempt.responseId);
  for (const kill of struck) {
    if (kill.strike.kind !== 'worker') continue;
    for (const { live, boundary } of kill.held) {
      if (live.part === silent) continue;
      const next = live.heard.find((heard) => heard.n >= boundary)?.at ?? Infinity;
      const until = Math.min(next, kill.at + settleMs);
      const disturbed = struck.some(
        (other) => other !== kill && other.at > kill.at - 1_500 && other.at < until,
      );
      if (disturbed) continue;
      const begun = (byResponse.get(live.id ?? '') ?? []).find(({ startedAt }) => startedAt > kill.time);
      if (begun !== undefined) recovery.nextAttempt.push(begun.startedAt - kill.time);
      if (live.part.script.manner !== 'restarts') recovery.nextEvent.push(next - kill.at);
    }
  }
  return recovery;
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/** How many attempts went on in which way. */
export function countContinuations(attempts: readonly Attempt[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { continuation } of attempts) counts.set(continuation, (counts.get(continuation) ?? 0) + 1);
  return counts;
}
