import type { Socket } from 'node:dgram';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll } from 'vitest';
import { holdUdpPort } from './udp-port.ts';

/**
 * Concurrent runs share the machine: a file waits for one of as many slots as a run has processes, each the
 * UDP port of that number.
 */
const slots = [9_801, 9_802, 9_803];
const maxWaitMs = 300_000;

/** A process that once got none, because other programs hold them all, does not try again. */
const place = globalThis as { machineSlot?: Socket | 'impossible' | undefined };
place.machineSlot ??= await acquireSlot();
afterAll(() => {
  if (place.machineSlot === 'impossible') return;
  place.machineSlot?.close();
  place.machineSlot = undefined;
});

async function acquireSlot(): Promise<Socket | 'impossible'> {
  for (const deadline = performance.now() + maxWaitMs; performance.now() < deadline; await sleep(100)) {
    for (const slot of slots) {
      const held = await holdUdpPort(slot);
      if (held !== 'taken') return held;
    }
  }
  return 'impossible';
}
