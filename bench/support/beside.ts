import { setTimeout as sleep } from 'node:timers/promises';
import { proportionalBytesWithChildren } from '#test/support/process-memory.ts';
import { respond } from './caller.ts';
import { models, type Lab } from './lab.ts';

const pauseMs = 20;
const minProbes = 10;

/** First tokens of responses one after the other until the work has ended, in milliseconds. */
export async function probe(lab: Lab, work: Promise<unknown>): Promise<number[]> {
  const state = { isOver: false };
  const ended = work.finally(() => (state.isOver = true));
  ended.catch(() => undefined);
  const times: number[] = [];
  while (!state.isOver || times.length < minProbes) {
    times.push((await respond(lab, { model: models.tools(0) })).firstTextUs / 1_000);
    await sleep(pauseMs);
  }
  await ended;
  return times;
}

/**
 * Megabytes of a process and its children now, shared pages counted once, and the most since; the process may end before
 * the measurement does.
 */
export function watchMemory(pid: number): { idleMb: number; end(): { idleMb: number; peakMb: number } } {
  const read = () => proportionalBytesWithChildren(pid) / 1_048_576;
  const idleMb = read();
  let peakMb = idleMb;
  const timer = setInterval(() => {
    peakMb = Math.max(peakMb, read());
  }, 250);
  timer.unref();
  return {
    idleMb,
    end: () => {
      clearInterval(timer);
      return { idleMb, peakMb };
    },
  };
}
