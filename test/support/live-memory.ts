import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { StackProcess } from './stack.ts';

const reporter = new URL('report-live-memory.ts', import.meta.url).href;

/** The environment of a stack's process whose live memory is asked for. */
export const reportsLiveMemory = { NODE_OPTIONS: `--expose-gc --import ${reporter}` };

/** Asks one process, question by question, for its live bytes after a collection. */
export class LiveMemory {
  readonly #process: StackProcess;
  #last: Promise<number> = Promise.resolve(0);

  constructor(process: StackProcess) {
    this.#process = process;
  }

  /** @throws when no answer comes within 20 s */
  read(): Promise<number> {
    this.#last = this.#last.then(() => this.#ask());
    return this.#last;
  }

  async #ask(): Promise<number> {
    const answered = this.#answers().length;
    this.#process.child.kill('SIGWINCH');
    for (const deadline = performance.now() + 20_000; performance.now() < deadline; await sleep(20)) {
      const bytes = this.#answers()[answered];
      if (bytes !== undefined) return bytes;
    }
    throw new Error('The process did not report its memory.');
  }

  #answers(): number[] {
    const log = readFileSync(this.#process.log, 'utf8');
    return [...log.matchAll(/^\{"liveBytes":(\d+)\}$/gm)].map(([, bytes]) => Number(bytes));
  }
}
