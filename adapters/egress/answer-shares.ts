import { setTimeout as sleep } from 'node:timers/promises';
import { FairSemaphore } from '#domain/foundation/kernel/fair-semaphore.ts';
import { FairTurns } from './fair-turns.ts';
import { Pace } from '#domain/foundation/kernel/pace.ts';

const KiB = 1_024;
const MiB = 1_048_576;

/** An event above this length is long: what is read of it is buffered until it ends. */
export const longEventBytes = 64 * KiB;

/**
 * Limits of one process. Model text arrives at a few hundred bytes a chunk; a worker writes about a thousand chunks a
 * second.
 */
const limits = {
  /** After inflation. */
  bytes: { burst: 8 * MiB, perSecond: 2 * MiB },
  /** Text, reasoning and arguments. */
  characters: { burst: MiB, perSecond: 256 * KiB },
  keptCharacters: 16 * MiB,
  longEvents: { slots: 32, slotsPerKey: 4, waitersPerKey: 10_000, waitMs: 3_600_000 },
};

/** The share of one tenant while its answers are read. Each wait ends with the answer's own limits. */
export interface AnswerShare {
  /** Waits for the tenant's byte budget before a chunk is parsed. */
  read(bytes: number, signal: AbortSignal): Promise<void>;
  /**
   * Reserves memory for text before it is written; it is held until the answer ends. @returns false: the tenant holds
   * too much already
   */
  reserve(characters: number, signal: AbortSignal): Promise<boolean>;
  /** Releases the reserved characters when the answer has ended. */
  forget(characters: number): void;
  /** Waits for a place before more of a long event is read. @returns releases the place */
  longEvent(signal: AbortSignal): Promise<() => void>;
}

/**
 * Divides a process among the tenants whose models and tool servers answer it: a server that sends all that it can, in
 * as many answers as there may be, takes neither the event loop nor the memory from other tenants.
 */
export class AnswerShares {
  readonly #turns = new FairTurns();
  readonly #bytes = new Pace(limits.bytes);
  readonly #characters = new Pace(limits.characters);
  readonly #kept = new Map<string, number>();
  readonly #longEvents = new FairSemaphore(limits.longEvents);

  of(tenantId: string): AnswerShare {
    return {
      read: async (bytes, signal) => {
        await this.#wait(this.#bytes.take(tenantId, bytes), signal);
        await this.#turns.take(tenantId);
      },
      reserve: async (characters, signal) => {
        const kept = (this.#kept.get(tenantId) ?? 0) + characters;
        this.#kept.set(tenantId, kept);
        if (kept > limits.keptCharacters) {
          return false;
        }
        await this.#wait(this.#characters.take(tenantId, characters), signal);
        await this.#turns.take(tenantId);
        return true;
      },
      forget: (characters) => {
        const kept = (this.#kept.get(tenantId) ?? 0) - characters;
        if (kept > 0) {
          this.#kept.set(tenantId, kept);
        } else {
          this.#kept.delete(tenantId);
        }
      },
      longEvent: (signal) => this.#hold(tenantId, signal),
    };
  }

  async #wait(ms: number, signal: AbortSignal): Promise<void> {
    if (ms > 0) {
      await sleep(ms, undefined, { signal });
    }
  }

  #hold(tenantId: string, signal: AbortSignal): Promise<() => void> {
    const { promise: held, resolve: begin, reject } = Promise.withResolvers<() => void>();
    const { promise: over, resolve: release } = Promise.withResolvers<void>();
    this.#longEvents
      .run(tenantId, signal, async () => {
        begin(release);
        await over;
      })
      .catch(reject);
    return held;
  }
}
