import { isGrpcDeadlineError } from '@temporalio/client';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { connectLazily } from '#temporal/client.ts';
import { startSilentRelay, type SilentRelay } from '../support/silent-relay.ts';

const answerWithinMs = 1_000;
let relay: SilentRelay;

beforeAll(async () => {
  relay = await startSilentRelay({ port: Number(inject('temporal').address.split(':')[1]) });
});
afterAll(() => relay?.close());

it('a call that Temporal never answers ends at its deadline, and the next one goes over a new connection', async () => {
  let hung = 0;
  const onHung = () => void (hung += 1);
  const client = connectLazily({ address: relay.address, namespace: 'default', answerWithinMs, onHung });
  const ask = () => client.workflowService.getSystemInfo({});
  try {
    await ask();
    relay.silence();
    const begun = performance.now();
    const lost = await Promise.allSettled([ask(), ask()]);
    expect(performance.now() - begun).toBeGreaterThan(answerWithinMs - 50);
    expect(lost.map((each) => each.status === 'rejected' && isGrpcDeadlineError(each.reason))).toEqual([
      true,
      true,
    ]);
    expect(hung).toBe(2);
    expect(await ask()).toMatchObject({ serverVersion: expect.any(String) });
    expect(relay.open).toBe(1);
  } finally {
    await client.connection.close();
  }
});
