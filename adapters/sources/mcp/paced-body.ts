import { setTimeout as sleep } from 'node:timers/promises';
import { passChunk, relayBody, withBody, type Pull } from '../../egress/relay-body.ts';

/** Cost of reading, in bytes: each line costs more than its text, since it may be an event that is parsed. */
const cost = { perSecond: 8_192, burst: 65_536, line: 128 };
const lineFeed = 10;

/**
 * A response whose body is read at a pace: a server that sends more is slowed down by its connection. `onEnd` is called
 * when the body has ended for any reason.
 */
export function pacedBody(response: Response, signal: AbortSignal, onEnd: () => void): Response {
  if (response.body === null) {
    onEnd();
    return response;
  }
  const reader = response.body.getReader();
  const burstMs = (cost.burst / cost.perSecond) * 1_000;
  let paidUntil = 0;
  const pull: Pull = async (...chunk) => {
    const aheadMs = paidUntil - performance.now();
    if (aheadMs > 0) {
      await sleep(aheadMs, undefined, { signal });
    }
    const value = await passChunk(...chunk);
    if (value === undefined) {
      onEnd();
      return;
    }
    paidUntil = Math.max(paidUntil, performance.now() - burstMs) + (costOf(value) / cost.perSecond) * 1_000;
  };
  const onFailure = (error: unknown) => {
    onEnd();
    // An abort during the pause is not seen by the answer below, whose timers would go on.
    void reader.cancel(error).catch(() => undefined);
  };
  return withBody(response, relayBody(reader, pull, { onFailure, onCancel: onEnd }));
}

function costOf(chunk: Uint8Array): number {
  const lines = chunk.reduce((count, byte) => (byte === lineFeed ? count + 1 : count), 0);
  return chunk.byteLength + lines * cost.line;
}
