import type { SilenceTarget } from './plan.ts';
import { silent } from './scripts.ts';
import type { Held, Struck } from './strike.ts';
import type { Attempt } from './verify.ts';

/** Whether readers had a delta of an item before the kill and another one of the same item after it. */
export function fellBetweenDeltas({ live, boundary }: Held): boolean {
  const deltas = live.received.filter((received) => received.type === 'response.output_text.delta');
  const before = new Set(
    deltas.filter((received) => received.n < boundary).map((received) => received.itemId),
  );
  return deltas.some((received) => received.n >= boundary && before.has(received.itemId));
}

export interface WorkerKills {
  betweenDeltas: number;
  /**
   * During a model turn, but not between two deltas of one item (before its first, or the item was
   * abandoned).
   */
  otherwise: number;
  total: number;
}

export function distribute(struck: readonly Struck[]): WorkerKills {
  const kills = struck.filter(({ strike }) => strike.kind === 'worker' && strike.aim !== 'tool');
  const betweenDeltas = kills.filter(({ held }) => held.some(fellBetweenDeltas)).length;
  return { betweenDeltas, otherwise: kills.length - betweenDeltas, total: kills.length };
}

export interface Recovery {
  /** Milliseconds from a worker's kill to the first event that another worker wrote, as the client got it. */
  nextEvent: number[];
  /**
   * Milliseconds from a worker's kill until another worker continued: its claim of the turn, or its first
   * event.
   */
  begun: number[];
  /** The slow ones, as text. */
  slow: string[];
}

/** A lost heartbeat is detected after 3.5 s at most; a longer delay has another cause as well. */
const slowMs = 4_000;

const recoveryMs = 6_000;

/**
 * The delay until work continued after a worker's kill with another worker running. Only kills without
 * another kill near them count: two at once give no result. A model that starts from zero is silent while it
 * repeats the published text, so its next event measures the model and is excluded; the other worker's start
 * counts.
 */
export function measureRecovery(struck: readonly Struck[], attempts: readonly Attempt[]): Recovery {
  const recovery: Recovery = { nextEvent: [], begun: [], slow: [] };
  const byResponse = Map.groupBy(attempts, (attempt) => attempt.responseId);
  for (const kill of struck) {
    if (kill.strike.kind !== 'worker') continue;
    for (const { live, boundary } of kill.held) {
      if (live.part === silent) continue;
      const next = live.received.find((received) => received.n >= boundary)?.at ?? Infinity;
      const until = Math.min(next, kill.at + recoveryMs);
      const disturbed = struck.some(
        (other) => other !== kill && other.at > kill.at - 1_500 && other.at < until,
      );
      if (disturbed) continue;
      const claimed = (byResponse.get(live.id ?? '') ?? []).find(({ startedAt }) => startedAt > kill.time);
      const eventMs = next - kill.at;
      const begunMs = Math.min(eventMs, claimed === undefined ? Infinity : claimed.startedAt - kill.time);
      recovery.begun.push(begunMs);
      if (live.part.script.manner !== 'restarts') recovery.nextEvent.push(eventMs);
      if (eventMs > slowMs) recovery.slow.push(describe({ live, boundary }, begunMs, eventMs));
    }
  }
  return recovery;
}

/** Longer than a model or a tool may be silent. */
const pauseHorizonMs = 130_000;

/**
 * The delay until streams continued after a silence: the end of the longest pause of each running stream,
 * counted from when a new connection would be answered. A model that starts from zero is silent by itself.
 */
export function measureSilences(struck: readonly Struck[]): Map<SilenceTarget, number[]> {
  const found = new Map<SilenceTarget, number[]>();
  for (const { strike, at, held } of struck) {
    if (strike.kind !== 'silence') continue;
    const backAt = at + strike.silence.awayMs;
    // Two silences at once, such as a model's and a tool's, cannot be distinguished.
    const next = Math.min(...struck.map((other) => other.at).filter((time) => time > at + 1_000));
    const pauses = held
      .filter(({ live }) => live.part !== silent && live.part.script.manner !== 'restarts')
      .flatMap(({ live }) => {
        const times = live.received
          .map((received) => received.at)
          .filter((time) => time > at && time < backAt + pauseHorizonMs);
        const ends = times
          .map((time, i) => ({ time, pauseMs: time - (times[i - 1] ?? at) }))
          .filter(({ time, pauseMs }) => time - pauseMs < next);
        const maxLength = ends.toSorted((a, b) => b.pauseMs - a.pauseMs)[0];
        return maxLength === undefined
          ? []
          : [Math.max(0, Math.min(maxLength.pauseMs, maxLength.time - backAt))];
      });
    found.set(strike.target, [...(found.get(strike.target) ?? []), ...pauses]);
  }
  return found;
}

function describe({ live, boundary }: Held, begunMs: number, eventMs: number): string {
  const last = live.received.findLast((received) => received.n < boundary)?.type ?? 'nothing';
  const first = live.received.find((received) => received.n >= boundary)?.type ?? 'nothing';
  const times = `begun after ${Math.round(begunMs)} ms, ${first} after ${Math.round(eventMs)} ms`;
  return `#${live.index} ${live.part.script.name} at ${boundary}: ${times}, last was ${last}`;
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/** The number of attempts by the way in which they continued. */
export function countContinuations(attempts: readonly Attempt[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { continuation } of attempts) counts.set(continuation, (counts.get(continuation) ?? 0) + 1);
  return counts;
}
