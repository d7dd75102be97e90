import { expect, it } from 'vitest';
import { idleMsOf, withIdleLimit } from '#adapters/models/idle-limit.ts';

const silentBehind = (word: string) =>
  new ReadableStream<string>({ start: (controller) => controller.enqueue(word) });

it('a stream that falls silent ends as a retryable timeout', async () => {
  const received: string[] = [];
  const read = async () => {
    for await (const word of withIdleLimit(silentBehind('Tides'), 20)) {
      received.push(word);
    }
  };
  await expect(read()).rejects.toMatchObject({ code: 'model_timeout', retryable: true });
  expect(received).toEqual(['Tides']);
});

it('a reasoning model may be silent for minutes', () => {
  expect(idleMsOf({ supportsReasoning: true })).toBe(300_000);
  expect(idleMsOf({ supportsReasoning: false })).toBe(60_000);
});
