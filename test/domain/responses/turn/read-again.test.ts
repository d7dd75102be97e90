import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cancelResponse } from '#domain/responses/end/cancel-response.ts';
import { saveRunId } from '#domain/responses/turn/save-run-id.ts';
import { reconcileLostAttempts } from '#domain/responses/turn/reconcile-attempts.ts';
import { openEngine, type Attempt, type Engine } from '../../../support/engine.ts';

let engine: Engine;

beforeAll(async () => {
  engine = await openEngine({ providerKind: 'openai', continuation: 'reattach' });
});
afterAll(() => engine.stop());

const thought = (place: number) => ({
  summary: [`Thought ${place}.`],
  providerState: {
    kind: 'openai' as const,
    model: 'scripted',
    turn: 0,
    place,
    reasoning: [{ text: '', state: { openai: { itemId: `rs_${place}` } } }],
  },
});

const begin = ({ turn }: Attempt, run: string) =>
  engine.database.unitOfWork.inTenant(turn.tenantId, (em) => saveRunId(em, turn, run));

describe('a run that is read again', () => {
  it('repeats a whole answer, and readers get the new part', async () => {
    const id = await engine.create();
    const first = await engine.attempt(id);
    await begin(first, 'resp_whole');
    await first.say('Tides ');
    const second = await engine.attempt(id);
    expect(second.turn.resume).toBe('resp_whole');
    await second.say('Tides come twice a day.');
    await second.commit();
    expect((await engine.record(id)).output).toMatchObject([
      { content: [{ text: 'Tides come twice a day.' }] },
    ]);
  });

  it('and only continues an answer repeats nothing, however short the published text is', async () => {
    const id = await engine.create();
    await (await engine.attempt(id)).say('The moon pulls the sea towards it, ');
    const second = await engine.attempt(id);
    expect(second.turn.resume).toBeNull();
    await begin(second, 'resp_rest');
    await second.say('and the ');
    const third = await engine.attempt(id);
    expect(third.turn.resume).toBe('resp_rest');
    await third.say('and the ');
    await third.say('Earth turns.');
    await third.commit();
    expect((await engine.record(id)).output).toMatchObject([
      { content: [{ text: 'The moon pulls the sea towards it, and the Earth turns.' }] },
    ]);
  });

  it('and was begun for another message does not continue the interrupted one', async () => {
    const id = await engine.create({ onGenerationLoss: 'restart' });
    await (await engine.attempt(id)).say('Half of it');
    await begin(await engine.attempt(id), 'resp_new');
    const third = await engine.attempt(id);
    expect(third.turn.resume).toBe('resp_new');
    await third.say('Whole.');
    const fourth = await engine.attempt(id);
    await fourth.say('Whole. Truly.');
    await fourth.commit();
    expect((await engine.record(id)).output).toMatchObject([{ content: [{ text: 'Whole. Truly.' }] }]);
  });

  it('repeats its reasoning, which stays one item, with its provider state', async () => {
    const id = await engine.create();
    const first = await engine.attempt(id);
    await begin(first, 'resp_thought');
    first.reason([thought(0)]);
    await first.say('The moon ');
    const second = await engine.attempt(id);
    second.reason([thought(0)]);
    await second.say('The moon pulls.');
    second.reason([thought(2)]);
    await second.commit();
    const { output } = await engine.record(id);
    expect(output).toMatchObject([
      { type: 'reasoning', summary: [{ text: 'Thought 0.' }] },
      { type: 'message', content: [{ text: 'The moon pulls.' }] },
      { type: 'reasoning', summary: [{ text: 'Thought 2.' }] },
    ]);
    const { rows } = await engine.admin.query<{ place: number }>(
      "select (provider_state->>'place')::int as place from items where response_id = $1 and type = 'reasoning' order by output_index",
      [id],
    );
    expect(rows).toEqual([{ place: 0 }, { place: 2 }]);
  });

  it('and began a new message has the reasoning of that message, not of the abandoned one', async () => {
    const id = await engine.create({ onGenerationLoss: 'restart' });
    const first = await engine.attempt(id);
    first.reason([thought(5)]);
    await first.say('Half of it');
    const second = await engine.attempt(id);
    await begin(second, 'resp_anew');
    second.reason([thought(0)]);
    await second.say('The ');
    const third = await engine.attempt(id);
    expect(third.turn.resume).toBe('resp_anew');
    third.reason([thought(0)]);
    await third.say('The whole.');
    await third.commit();
    expect((await engine.record(id)).output).toMatchObject([
      { type: 'reasoning', summary: [{ text: 'Thought 5.' }] },
      { type: 'reasoning', summary: [{ text: 'Thought 0.' }] },
      { type: 'message', content: [{ text: 'The whole.' }] },
    ]);
    const { rows } = await engine.admin.query<{ place: string | null }>(
      "select provider_state->>'place' as place from items where response_id = $1 and type = 'reasoning' order by output_index",
      [id],
    );
    expect(rows).toEqual([{ place: null }, { place: '0' }]);
  });

  it('is paid for once, also when an attempt died before its first event', async () => {
    const id = await engine.create();
    await begin(await engine.attempt(id), 'resp_once');
    await engine.attempt(id);
    const last = await engine.attempt(id);
    await last.commit();
    expect((await engine.record(id)).usage).toMatchObject({ input_tokens: 100, output_tokens: 20 });
  });

  it('is paid for also when its response ends before a worker has begun to read it again', async () => {
    const usageOfCancelled = async (died: boolean) => {
      const id = await engine.create();
      const first = await engine.attempt(id);
      await begin(first, `resp_between_${died}`);
      await first.say('The moon pulls the sea towards it. ');
      if (died) {
        // A worker that accounts for the first one's attempt is killed before it claims the turn.
        await reconcileLostAttempts(engine.database.unitOfWork, first.turn, first.turn.epoch);
      }
      await engine.act((ctx) => cancelResponse(ctx, { responseId: id }));
      return (await engine.record(id)).usage;
    };
    const usage = await usageOfCancelled(true);
    expect(usage.input_tokens).toBeGreaterThan(0);
    expect(usage).toEqual(await usageOfCancelled(false));
  });

  it('and is never read to its end costs one prompt and all its output', async () => {
    const usageOfCancelled = async (again: boolean) => {
      const id = await engine.create();
      const first = await engine.attempt(id);
      await begin(first, `resp_cancelled_${again}`);
      await first.say('The moon pulls the sea towards it, and the Earth turns. ');
      if (again) {
        await engine.attempt(id);
      }
      await engine.act((ctx) => cancelResponse(ctx, { responseId: id }));
      return (await engine.record(id)).usage;
    };
    expect(await usageOfCancelled(true)).toEqual(await usageOfCancelled(false));
  });
});
