import { setImmediate as round } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { AnswerShares } from '#adapters/egress/answer-shares.ts';
import { boundedFetch } from '#adapters/egress/bounded-fetch.ts';
import { FairTurns } from '#adapters/egress/fair-turns.ts';
import { Pace } from '#domain/foundation/kernel/pace.ts';
import { openAiCompatible } from '#adapters/models/openai-compatible.ts';
import { modelRequest } from '../support/model-request.ts';

const forever = new AbortController().signal;

describe('a pace', () => {
  it('lets the burst through at once and delays the rest, separately for each key', () => {
    const pace = new Pace({ burst: 100, perSecond: 50 });
    expect([
      pace.take('a', 100, 0),
      pace.take('a', 50, 0),
      pace.take('a', 50, 0),
      pace.take('b', 100, 0),
    ]).toEqual([0, 1_000, 2_000, 0]);
  });

  it('refills its burst over the time of its use, and not beyond', () => {
    const pace = new Pace({ burst: 100, perSecond: 50 });
    pace.take('a', 100, 0);
    expect([pace.take('a', 100, 60_000), pace.take('a', 1, 60_000)]).toEqual([0, 20]);
  });
});

describe('turns at the event loop', () => {
  it('a thousand waiters of one key delay the first of another key by one turn', async () => {
    const turns = new FairTurns();
    let taken = 0;
    const many = Array.from({ length: 1_000 }, () => turns.take('many').then(() => (taken += 1)));
    await turns.take('other');
    expect(taken).toBeLessThanOrEqual(1);
    await Promise.all(many);
  });

  it('run once in a round of the loop, so that other pending work runs in between', async () => {
    const turns = new FairTurns();
    const taken: number[] = [];
    let rounds = 0;
    const all = Promise.all(
      Array.from({ length: 100 }, () => turns.take('key').then(() => taken.push(rounds))),
    );
    while (rounds < 200) {
      await round();
      rounds += 1;
    }
    await all;
    const inOneRound = taken.map((at) => taken.filter((other) => other === at).length);
    expect(Math.max(...inOneRound)).toBeLessThanOrEqual(2);
  });
});

describe('the share of a tenant', () => {
  it('has slots for long events that are released, also when a wait is abandoned', async () => {
    const shares = new AnswerShares();
    const held = await Promise.all([1, 2, 3, 4].map(() => shares.of('busy').longEvent(forever)));
    const stop = new AbortController();
    const fifth = shares.of('busy').longEvent(stop.signal);
    // Another tenant's slots are not affected.
    (await shares.of('other').longEvent(forever))();
    stop.abort(new Error('given up'));
    await expect(fifth).rejects.toThrow('given up');
    held[0]!();
    (await shares.of('busy').longEvent(forever))();
  });

  it('limits the buffered text of all unfinished answers', async () => {
    const share = new AnswerShares().of('tenant');
    expect(await share.reserve(1_000_000, forever)).toBe(true);
    expect(await share.reserve(16_000_000, forever)).toBe(false);
    share.forget(16_500_000);
    expect(await share.reserve(1_000, forever)).toBe(true);
  });
});

it('beside two hundred endless answers of one tenant, another tenant’s answer comes at once', async () => {
  const shares = new AnswerShares();
  const event = Buffer.from(
    `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'tides '.repeat(1_000) } }] })}\n\n`,
  );
  const last = Buffer.from(
    'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
  );
  const models = (events: () => Buffer | null) =>
    openAiCompatible({
      fetch: () =>
        Promise.resolve(
          new Response(
            new ReadableStream<Uint8Array>({
              pull: (controller) => {
                const next = events();
                return next === null ? controller.close() : controller.enqueue(next);
              },
            }),
            { headers: { 'content-type': 'text/event-stream' } },
          ),
        ),
      credential: () => undefined,
      shares,
    });
  const spec = {
    providerKind: 'openai_compatible',
    providerModel: 'any',
    baseUrl: 'http://127.0.0.1:9/v1',
  } as const;
  const stop = new AbortController();
  let endless = 0;
  const talking = Array.from({ length: 200 }, async () => {
    for await (const part of models(() => event).stream(
      modelRequest(spec, { tenantId: 'hostile' }),
      stop.signal,
    )) {
      endless += part.type === 'text' ? part.text.length : 0;
    }
  });
  await expect.poll(() => endless).toBeGreaterThan(1_000_000);
  const calm = [event, last];
  const parts: string[] = [];
  for await (const part of models(() => calm.shift() ?? null).stream(
    modelRequest(spec, { tenantId: 'calm' }),
    forever,
  )) {
    parts.push(part.type);
  }
  expect(parts).toEqual(['text', 'finish']);
  // Beyond the burst there is a pace: 256 Ki characters a second.
  expect(endless).toBeLessThan(16_000_000);
  stop.abort(new Error('enough'));
  await Promise.allSettled(talking);
});

it('an event of megabytes waits for a slot, and its bytes are not read meanwhile', async () => {
  const shares = new AnswerShares();
  let read = 0;
  const fetch = boundedFetch('model', {
    fetch: () =>
      Promise.resolve(
        new Response(
          new ReadableStream<Uint8Array>({
            pull: (controller) => {
              read += 65_536;
              controller.enqueue(Buffer.alloc(65_536, 'x'));
            },
          }),
        ),
      ),
    share: shares.of('hostile'),
  });
  const stop = new AbortController();
  const places = await Promise.all([1, 2, 3, 4].map(() => shares.of('hostile').longEvent(forever)));
  const reader = (await fetch('http://127.0.0.1:9', { signal: stop.signal })).body!.getReader();
  await reader.read();
  const second = reader.read();
  await round();
  await round();
  const held = read;
  await new Promise((go) => setTimeout(go, 50));
  expect([read - held, read <= 4 * 65_536]).toEqual([0, true]);
  places[0]!();
  expect((await second).done).toBe(false);
  stop.abort();
});
