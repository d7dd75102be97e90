import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cancelResponse } from '#domain/responses/end/cancel-response.ts';
import { claimCall } from '#domain/responses/calls/claim-call.ts';
import { closeResponse } from '#domain/responses/end/close-response.ts';
import { commitCall } from '#domain/responses/calls/commit-call.ts';
import { readStreams } from '#domain/responses/store/stream-store.ts';
import { openEngine, search, type Attempt, type Engine } from '../../../support/engine.ts';
import { DONE, RETRY } from '../../../support/stream-builder.ts';
import { checkStream } from '../../../support/stream-checker.ts';

let engine: Engine;

beforeAll(async () => {
  engine = await openEngine();
});
afterAll(() => engine.stop());

/** The stored stream as the gateway frames it. */
async function bytesOf(responseId: string): Promise<Buffer> {
  const { tenantId } = engine.world;
  const runs = await readStreams(engine.database.database, [{ tenantId, responseId, after: -1 }], 10_000);
  const frames = runs
    .flat()
    .flatMap((run) => run.events.split('\n'))
    .map((line, n) => {
      const { type } = JSON.parse(line) as { type: string };
      return `id: ${responseId}:${n}\nevent: ${type}\ndata: ${line}\n\n`;
    });
  return Buffer.from(RETRY + frames.join('') + DONE);
}

const answer = 'The moon 🌕 pulls the sea [1], and the Earth turns below two bulges of water 🌊 twice a day.';
const other = 'The moon 🌕 pulls the sea [2]; but this time the story is told in quite another way.';

/** The model's handling of a text of which readers have `prefix`. */
const manners = {
  honours: (prefix: string) => answer.slice(prefix.trimEnd().length),
  restarts: () => answer,
  overlaps: (prefix: string) => answer.slice(Math.max(0, prefix.trimEnd().length - 20)),
  diverges: (prefix: string) => (prefix.length > 30 ? other : answer),
};

type Manner = keyof typeof manners;
const mannerOf = fc.constantFrom<Manner>('honours', 'restarts', 'overlaps', 'diverges');
const ending = fc.constantFrom('commit', 'length', 'cancel', 'fail');

const plan = fc.record({
  /** Searches per turn before the answer. */
  rounds: fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 2 }),
  /** Characters after which each attempt at the answer is lost. */
  crashes: fc.array(fc.integer({ min: 0, max: answer.length }), { maxLength: 3 }),
  manner: mannerOf,
  pieces: fc.integer({ min: 1, max: 17 }),
  ending,
  granularity: fc.constantFrom('token' as const, 'item' as const),
});

type Plan = typeof plan extends fc.Arbitrary<infer T> ? T : never;

async function say(attempt: Attempt, text: string, size: number): Promise<void> {
  for (let at = 0; at < text.length; at += size) {
    await attempt.say(text.slice(at, at + size));
  }
}

async function runRound(responseId: string, iteration: number, count: number): Promise<void> {
  const { tenantId } = engine.world;
  const attempt = await engine.attempt(responseId, iteration);
  await attempt.say('Let me look. ');
  await attempt.commit({ calls: Array.from({ length: count }, () => search('tides')), reason: 'tool_calls' });
  await Promise.all(
    Array.from({ length: count }, async (_, callIndex) => {
      const key = { tenantId, responseId, iteration, callIndex };
      await claimCall(engine.database, key);
      const outcome = {
        outcome: 'succeeded' as const,
        result: '{"results":[]}',
        end: { status: 'completed' as const, output: '', results: null },
      };
      await commitCall(engine.database, key, outcome);
    }),
  );
}

async function play({ rounds, crashes, manner, pieces, ending, granularity }: Plan): Promise<string> {
  const id = await engine.create({ streamGranularity: granularity });
  for (const [iteration, count] of rounds.entries()) {
    await runRound(id, iteration, count);
  }
  const textFor = (attempt: Attempt) => {
    const prefix = attempt.turn.composer.open?.text ?? '';
    return prefix === '' ? answer : manners[manner](prefix);
  };
  for (const characters of crashes) {
    const attempt = await engine.attempt(id, rounds.length);
    await say(attempt, textFor(attempt).slice(0, characters), pieces);
  }
  const last = await engine.attempt(id, rounds.length);
  await say(last, textFor(last), pieces);
  switch (ending) {
    case 'commit':
    case 'length':
      await last.commit({ reason: ending === 'length' ? 'length' : 'stop' });
      break;
    case 'cancel':
      await engine.act((ctx) => cancelResponse(ctx, { responseId: id }));
      break;
    default:
      await engine.database.unitOfWork.inTenant(engine.world.tenantId, (em) =>
        closeResponse(em, id, { kind: 'failed', code: 'internal_error' }),
      );
  }
  return id;
}

/** Each manner in mid-sentence, in every run of this test. */
const examples = (Object.keys(manners) as Manner[]).map((manner): [Plan] => [
  { rounds: [2], crashes: [25, 50], manner, pieces: 7, ending: 'commit', granularity: 'token' },
]);

describe('a stream', () => {
  it('keeps O1 to O10 however often its turns are lost, whatever the model does and however it ends', async () => {
    await fc.assert(
      fc.asyncProperty(plan, async (chosen) => {
        const id = await play(chosen);
        const [bytes, replay] = [await bytesOf(id), await bytesOf(id)];
        const final = { ...(await engine.record(id)) };
        const segments = [{ cursor: null, bytes }];
        expect(checkStream({ responseId: id, segments, final, replays: [replay] })).toEqual([]);
        if (chosen.ending === 'commit' && chosen.manner !== 'diverges') {
          expect(final.output.at(-1)).toMatchObject({ type: 'message', content: [{ text: answer }] });
        }
      }),
      { numRuns: 14, examples },
    );
  });
});
