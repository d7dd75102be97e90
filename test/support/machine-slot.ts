import { createSocket, type Socket } from 'node:dgram';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll } from 'vitest';

/**
 * Runs at the same time share what one alone would have: a file waits for one of as many slots as a run has processes,
 * each the UDP port of that number. A slot that stays taken, perhaps by a stranger, is not waited for without end.
 */
const slots = [9_801, 9_802, 9_803];
const longestWaitMs = 600_000;

const place = globalThis as { machineSlot?: Socket | undefined };
place.machineSlot ??= await takeSlot();
afterAll(() => {
  place.machineSlot?.close();
  place.machineSlot = undefined;
});

async function takeSlot(): Promise<Socket | undefined> {
  for (const deadline = performance.now() + longestWaitMs; performance.now() < deadline; await sleep(100)) {
    for (const slot of slots) {
      const socket = await hold(slot);
      if (socket !== undefined) return socket;
    }
  }
  return undefined;
}

function hold(port: number): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = createSocket('udp4').unref();
    socket.once('error', () => {
      socket.close();
      resolve(undefined);
    });
    socket.bind({ port, address: '127.0.0.1', exclusive: true }, () => resolve(socket));
  });
}
