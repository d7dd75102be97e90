import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { LaunchError } from './errors.ts';
import { readLines } from './hosted.ts';

export interface SuperviseInput {
  name: string;
  spawn: () => ChildProcess;
  onLine: (line: string) => void;
  /** Reports the child's restarts and end, for the screen. */
  note: (text: string) => void;
  onSpawn?: (pid: number) => void;
  /** Called once, when the child crashed too often to go on. */
  onGiveUp: (error: LaunchError) => void;
  tail: () => readonly string[];
}

export interface Supervised {
  /** SIGTERM, and after the grace SIGKILL; resolves when the child has ended for good. */
  stop(graceMs: number): Promise<void>;
}

const FIRST_DELAY_MS = 200;
const LONGEST_DELAY_MS = 5000;
const MOST_CRASHES = 5;
const WINDOW_MS = 60_000;
/** Its last lines may still be in the pipe, which processes that it left behind may hold open. */
const LAST_LINES_WITHIN_MS = 1000;

/**
 * Keeps one child running: restarts it when it ends, with growing delays, and gives up after five ends in a
 * minute.
 */
export function supervise(input: SuperviseInput): Supervised {
  const { name, spawn, onLine, note, onSpawn, onGiveUp, tail } = input;
  let crashes: number[] = [];
  let child: ChildProcess | undefined;
  let ended: Promise<void> = Promise.resolve();
  let again: NodeJS.Timeout | undefined;
  let stopping = false;

  function start(): void {
    const running = spawn();
    child = running;
    readLines(running, onLine);
    if (running.pid !== undefined) onSpawn?.(running.pid);
    ended = new Promise((resolve) => {
      running.once('error', (error) => {
        onLine(`cannot run: ${error.message}`);
        if (running.pid === undefined) resolve();
      });
      running.once('exit', (code, signal) => {
        note(
          stopping
            ? `${name} stopped`
            : `${name} ended unexpectedly (${signal ?? `exit code ${String(code)}`})`,
        );
        resolve();
      });
    });
    const closed = new Promise((resolve) => running.once('close', resolve));
    void ended.then(() => {
      child = undefined;
      if (!stopping) recover(closed);
    });
  }

  function recover(closed: Promise<unknown>): void {
    const now = Date.now();
    crashes = [...crashes.filter((at) => now - at < WINDOW_MS), now];
    if (crashes.length < MOST_CRASHES) {
      again = setTimeout(start, Math.min(FIRST_DELAY_MS * 2 ** (crashes.length - 1), LONGEST_DELAY_MS));
      return;
    }
    void Promise.race([closed, sleep(LAST_LINES_WITHIN_MS)]).then(() => {
      if (!stopping)
        onGiveUp(new LaunchError(`${name} crashed ${crashes.length} times within a minute.`, tail()));
    });
  }

  start();
  return {
    async stop(graceMs) {
      stopping = true;
      clearTimeout(again);
      const running = child;
      if (!running) return;
      running.kill('SIGTERM');
      const timer = setTimeout(() => running.kill('SIGKILL'), graceMs);
      await ended;
      clearTimeout(timer);
    },
  };
}
