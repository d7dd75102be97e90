import { setTimeout as sleep } from 'node:timers/promises';
import type { Stack, StackProcess } from '../support/stack.ts';

type Role = StackProcess['role'];

const startAttempts = 8;

/** The gateways and workers that are ready, and their replacements on the way. */
export class Fleet {
  readonly #stack: Stack;
  readonly #ready: Record<Role, StackProcess[]>;
  readonly #starting = new Set<Promise<void>>();
  /** Replacements that could not be started. */
  readonly failures: Error[] = [];

  constructor(stack: Stack) {
    this.#stack = stack;
    this.#ready = { gateway: [...stack.gateways], worker: [...stack.workers] };
  }

  ready(role: Role): readonly StackProcess[] {
    return this.#ready[role];
  }

  async untilReady(role: Role, count: number): Promise<void> {
    for (let waitedMs = 0; this.#ready[role].length < count; waitedMs += 50) {
      if (waitedMs > 90_000) throw new Error(`No ${count} ${role}s in time.`);
      await sleep(50);
    }
  }

  /** SIGKILL; a replacement is started in the background. */
  async kill(victim: StackProcess): Promise<NodeJS.Signals | null> {
    this.#ready[victim.role] = this.#ready[victim.role].filter((each) => each !== victim);
    const signal = await victim.kill();
    const starting = this.#replace(victim.role);
    this.#starting.add(starting);
    void starting.then(() => this.#starting.delete(starting));
    return signal;
  }

  /** A process that dies at its failpoint; only its requester uses it as a gateway. */
  arm(role: Role, failpoint: string): Promise<StackProcess> {
    return this.#stack.launch(role, { PLATFORM_FAILPOINT: failpoint });
  }

  async settle(): Promise<void> {
    await Promise.all(this.#starting);
  }

  /** A start that fails because a server is just being killed is repeated, as a supervisor would. */
  async #replace(role: Role): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const started = await this.#stack.start(role);
        this.#ready[role].push(started);
        return;
      } catch (error) {
        if (attempt === startAttempts) return void this.failures.push(error as Error);
        await sleep(250);
      }
    }
  }
}
