import { createSocket, type Socket } from 'node:dgram';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll } from 'vitest';

/**
 * Runs at the same time share what one alone would have: a file waits for one of as many slots as a run has processes,
 * each the UDP port of that number.
 */
const slots = [9_801, 9_802, 9_803];
const longestWaitMs = 300_000;

/** A process that once got none, since strangers or the system hold them all, asks no more. */
const place = globalThis as { machineSlot?: Socket | 'none' | undefined };
place.machineSlot ??= await takeSlot();
afterAll(() => {
  if (place.machineSlot === 'none') return;
  place.machineSlot?.close();
  place.machineSlot = undefined;
});

async function takeSlot(): Promise<Socket | 'none'> {
  for (const deadline = performance.now() + longestWaitMs; performance.now() < deadline; await sleep(100)) {
    for (const slot of slots) {
      const held = await hold(slot);
      if (held !== 'taken') return held;
    }
  }
  return 'none';
}

function hold(port: number): Promise<Socket | 'taken' | 'none'> {
  return new Promise((resolve) => {
    const socket = createSocket('udp4').unref();
    socket.once('error', (error: NodeJS.ErrnoException) => {
      socket.close();
      resolve(error.code === 'EADDRINUSE' ? 'taken' : 'none');
    });
    socket.bind({ port, address: '127.0.0.1', exclusive: true }, () => resolve(socket));
  });
}
