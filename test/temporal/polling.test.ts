import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { expect, it, vi } from 'vitest';
import { Polling } from '#temporal/polling.ts';

it('a worker that has just begun reports no server that has not answered yet, and soon reports the missing ones', async () => {
  const said: { msg: string; missing?: string[] }[] = [];
  const logger = pino({}, { write: (line) => void said.push(JSON.parse(line)) });
  const group = { address: '127.0.0.1:1', namespace: 'default', queues: [] };
  const polling = new Polling({ group, pulse: { isAway: true }, logger, onHung: () => undefined });
  const begun = performance.now();
  polling.start();
  try {
    await sleep(1_000);
    if (performance.now() - begun < 4_000) {
      expect(said).toEqual([]);
    }
    expect(polling.missing).toEqual(['database']);
    await vi.waitFor(() => expect(said).toMatchObject([{ msg: 'no work is taken', missing: ['database'] }]), {
      timeout: 10_000,
    });
  } finally {
    await polling.stop();
  }
});
