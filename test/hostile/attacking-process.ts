import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Target } from './attacks.ts';
import type { Order, Report } from './attacker.ts';

/** The attacker in a process of its own, so that it does not share an event loop with the measurement. */
export class AttackingProcess {
  readonly #child: ChildProcess;
  /** Base URL of its model server, `/v1` included. */
  readonly url: string;
  readonly origin: string;

  private constructor(child: ChildProcess, { url, origin }: Extract<Report, { kind: 'ready' }>) {
    this.#child = child;
    this.url = url;
    this.origin = origin;
  }

  static async start(): Promise<AttackingProcess> {
    const child = fork(fileURLToPath(new URL('attacker.ts', import.meta.url)), [], {
      execPath: 'chrt',
      execArgv: ['--idle', '0', process.execPath],
    });
    return new AttackingProcess(child, await next(child, 'ready'));
  }

  attack(target: Omit<Target, 'signal'>, width: number): void {
    this.#sendOrder({ kind: 'attack', target, width });
  }

  /** Ends the attack, not the process: its models keep answering until `stop`. */
  async end(): Promise<Extract<Report, { kind: 'over' }>> {
    this.#sendOrder({ kind: 'stop' });
    return next(this.#child, 'over');
  }

  async stop(): Promise<void> {
    this.#child.disconnect();
    await once(this.#child, 'exit');
  }

  #sendOrder(order: Order): void {
    this.#child.send(order);
  }
}

/** @throws when the process ends, or says that it failed, instead */
async function next<K extends Report['kind']>(
  child: ChildProcess,
  kind: K,
): Promise<Extract<Report, { kind: K }>> {
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`The attacker ended (${String(code)}).`);
  });
  const [report] = (await Promise.race([once(child, 'message'), ended])) as [Report];
  if (report.kind !== kind) {
    throw new Error(`The attacker says: ${JSON.stringify(report)}`);
  }
  return report as Extract<Report, { kind: K }>;
}
