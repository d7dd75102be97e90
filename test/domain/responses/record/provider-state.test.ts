import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { permissions } from '#domain/foundation/access/permissions.ts';
import type { ModelPart } from '#domain/capabilities/models/model-gateway.ts';
import { registerModel } from '#domain/capabilities/models/register-model.ts';
import { cancelResponse } from '#domain/responses/end/cancel-response.ts';
import { commitCall, type CallOutcome } from '#domain/responses/calls/commit-call.ts';
import { TurnRecorder } from '#domain/responses/stream/turn-recorder.ts';
import { setSpaceModels } from '#domain/workspace/spaces/set-space-models.ts';
import { openEngine, type Attempt, search, type Engine } from '../../../support/engine.ts';

let engine: Engine;
beforeAll(async () => {
  engine = await openEngine({
    providerKind: 'anthropic',
    providerModel: 'claude-opus-4-6',
    supportsReasoning: true,
  });
  await engine.act(
    async (ctx) => {
      const other = { alias: 'other', providerKind: 'anthropic', providerModel: 'claude-haiku-4-5' } as const;
      await registerModel(ctx, { ...other, price: { input: '1', output: '1' } });
      await setSpaceModels(ctx, { models: ['paid', 'other'], defaultModel: 'paid' });
    },
    { granted: new Set(permissions) },
  );
});
afterAll(() => engine.stop());

const secret = 'c2lnbmVkLXRob3VnaHQ=';
const signed = { anthropic: { signature: secret } };
const said: ModelPart[] = [
  { type: 'reasoning', text: 'Tides\0?', summary: true, state: signed },
  {
    type: 'reasoning',
    text: 'The book knows.',
    summary: true,
    state: { anthropic: { redactedData: secret } },
  },
  { type: 'text', text: 'I look it up.' },
  { type: 'text_state', state: { anthropic: { mark: 1.5 } } },
  { type: 'tool_call', ...search('tides'), state: { anthropic: { caller: [secret] } } },
];

/** The result of a model turn, as the activity records it. */
function recorded(attempt: Attempt, parts: ModelPart[]) {
  const owner = { providerKind: 'anthropic', providerModel: 'claude-opus-4-6' } as const;
  const recorder = new TurnRecorder({ ...owner, turn: 0, summary: 'auto' });
  parts.forEach((part) => recorder.take(part));
  attempt.reason(recorder.drainReasoned());
  return { calls: recorder.calls, textState: recorder.textState };
}

const found = (result: string): CallOutcome => ({
  outcome: 'succeeded',
  result,
  end: { status: 'completed', output: '', results: null },
});

/** A response after one turn with reasoning, text and a call, with its call answered. */
async function afterCall(parts: ModelPart[] = said): Promise<string> {
  const id = await engine.create({ reasoningEffort: 'low', reasoningSummary: 'auto' });
  const attempt = await engine.attempt(id);
  const outcome = recorded(attempt, parts);
  await attempt.say('I look it up.');
  await attempt.commit({ ...outcome, reason: 'tool_calls' });
  const key = { tenantId: engine.world.tenantId, responseId: id, iteration: 0, callIndex: 0 };
  await commitCall(engine.database, key, found('Nothing was found.'));
  return id;
}

const assistants = (messages: { role: string }[]) => messages.filter(({ role }) => role === 'assistant');

describe('the provider state', () => {
  it('is sent back exactly, in the provider’s order', async () => {
    const { turn } = await engine.attempt(await afterCall(), 1);
    expect(assistants(turn.messages)).toEqual([
      {
        role: 'assistant',
        reasoning: [
          { text: 'Tides\uFFFD?', state: signed },
          { text: 'The book knows.', state: { anthropic: { redactedData: secret } } },
        ],
        text: 'I look it up.',
        state: { anthropic: { mark: 1.5 } },
        calls: [
          {
            callId: expect.stringMatching(/^call_/),
            ...search('tides'),
            state: { anthropic: { caller: [secret] } },
          },
        ],
      },
    ]);
    expect(turn.messages.at(-1)).toMatchObject({ role: 'tool', result: 'Nothing was found.' });
  });

  it('never appears on our wire: neither in the response nor in its events', async () => {
    const id = await afterCall();
    const wire = JSON.stringify([await engine.record(id), await engine.events(id)]);
    expect(wire).toContain('The book knows.');
    expect(wire).not.toContain(secret);
  });

  it('is not sent to another model, which receives the text and the calls', async () => {
    const first = await afterCall();
    await (await engine.attempt(first, 1)).commit();
    const next = await engine.create({ previousResponseId: first, modelAlias: 'other' });
    const { turn } = await engine.attempt(next);
    expect(assistants(turn.messages)).toMatchObject([{ text: 'I look it up.', calls: [search('tides')] }]);
    expect(JSON.stringify(turn.messages)).not.toContain(secret);
    const back = await engine.create({ previousResponseId: first });
    expect(JSON.stringify((await engine.attempt(back)).turn.messages)).toContain(secret);
  });

  it('is omitted when nothing followed it: an interrupted call', async () => {
    const id = await engine.create();
    const attempt = await engine.attempt(id);
    await attempt.commit({ ...recorded(attempt, said.slice(0, 2)), reason: 'length' });
    const next = await engine.create({ previousResponseId: id });
    expect(assistants((await engine.attempt(next)).turn.messages)).toEqual([]);
  });

  it('stays with a call that was interrupted by the end of its response, and with its reasoning', async () => {
    const id = await engine.create();
    const attempt = await engine.attempt(id);
    await attempt.say('I look it up.');
    await attempt.commit({ ...recorded(attempt, said), reason: 'tool_calls' });
    await engine.act((ctx) => cancelResponse(ctx, { responseId: id }));
    const { turn } = await engine.attempt(await engine.create({ previousResponseId: id }));
    expect(assistants(turn.messages)).toMatchObject([
      {
        reasoning: [{ state: signed }, {}],
        text: 'I look it up.',
        calls: [{ ...search('tides'), state: { anthropic: { caller: [secret] } } }],
      },
    ]);
  });

  it('two rounds of calls stay two messages, each followed by its result', async () => {
    const id = await afterCall();
    const second = await engine.attempt(id, 1);
    const parts = said.filter(({ type }) => type === 'tool_call');
    const calls = recorded(second, parts).calls.map((call) => ({
      ...call,
      providerState: { ...call.providerState!, turn: 1 },
    }));
    await second.commit({ calls, reason: 'tool_calls' });
    const key = { tenantId: engine.world.tenantId, responseId: id, iteration: 1, callIndex: 0 };
    const outcome = found('Still nothing.');
    await commitCall(engine.database, key, outcome);
    const { turn } = await engine.attempt(id, 2);
    expect(turn.messages.map(({ role }) => role).slice(-4)).toEqual([
      'assistant',
      'tool',
      'assistant',
      'tool',
    ]);
  });
});

describe('reasoning that the caller sends back by its id', () => {
  const given = async (id: string): Promise<string> => {
    const next = await engine.create({
      input: [
        { type: 'message', role: 'user', text: 'And?' },
        { type: 'reasoning', id, summary: [{ type: 'summary_text', text: 'The book knows.' }] },
        { type: 'message', role: 'assistant', text: 'It is noon.' },
        { type: 'message', role: 'user', text: 'Now?' },
      ],
    });
    return next;
  };
  const reasoningOf = async (id: string) =>
    (await engine.record(id)).output.find(({ type }) => type === 'reasoning')!.id;

  it('is the stored item when the caller may read it, else a new one', async () => {
    const own = await reasoningOf(await afterCall());
    const [kept] = (
      await engine.admin.query<{ id: string }>(
        'select i.id from response_context c join items i on i.id = c.item_id where c.response_id = $1 and i.id = $2',
        [await given(own), own],
      )
    ).rows;
    expect(kept).toEqual({ id: own });
    const { rows } = await engine.admin.query<{ id: string; provider_state: unknown }>(
      "select id, provider_state from items where response_id = $1 and type = 'reasoning'",
      [await given('rs_of_nobody')],
    );
    expect(rows).toEqual([{ id: expect.stringMatching(/^rs_/), provider_state: null }]);
    expect(rows[0]!.id).not.toBe('rs_of_nobody');
  });
});

describe('a summary of reasoning', () => {
  it('is an item before the message that it led to, streamed in parts', async () => {
    const id = await afterCall();
    const { output } = await engine.record(id);
    expect(output.map(({ type }) => type)).toEqual(['reasoning', 'message', 'file_search_call']);
    const item = output[0]!;
    expect(item).toMatchObject({
      id: expect.stringMatching(/^rs_/),
      status: 'completed',
      summary: [
        { type: 'summary_text', text: 'Tides\uFFFD?' },
        { type: 'summary_text', text: 'The book knows.' },
      ],
    });
    const received = (await engine.events(id)).filter((event) => event.output_index === 0);
    expect(received.map(({ type, summary_index: index }) => [type, index])).toEqual([
      ['response.output_item.added', undefined],
      ...[0, 1].flatMap((index) =>
        ['part.added', 'text.delta', 'text.done', 'part.done'].map((end) => [
          `response.reasoning_summary_${end}`,
          index,
        ]),
      ),
      ['response.output_item.done', undefined],
    ]);
  });

  it('is empty for a caller that did not ask for one', async () => {
    const recorder = new TurnRecorder({ providerKind: 'google', providerModel: 'm', turn: 0, summary: null });
    said.forEach((part) => recorder.take(part));
    const reasoned = recorder.drainReasoned();
    expect(reasoned.map(({ summary }) => summary)).toEqual([[]]);
    expect(reasoned[0]!.providerState.reasoning?.length).toBe(2);
    expect(recorder.drainReasoned()).toEqual([]);
  });

  it.each([
    { thinks: 'thinks again', parts: said, returns: [{ reasoning: [{ state: signed }, {}] }] },
    { thinks: 'does not', parts: said.slice(2), returns: [{}] },
    {
      thinks: 'thinks again and says no more',
      parts: [...said.slice(0, 2), ...said.slice(4)],
      returns: [{ reasoning: [{ state: signed }, {}], calls: [search('tides')] }],
    },
  ])(
    'of an interrupted attempt stays as published; the provider gets that of the next attempt, which $thinks',
    async ({ parts, returns }) => {
      const id = await engine.create({ reasoningEffort: 'low', reasoningSummary: 'auto' });
      const first = await engine.attempt(id);
      recorded(first, [{ type: 'reasoning', text: 'At first.', summary: true, state: {} }]);
      await first.say('I look ');
      const second = await engine.attempt(id);
      const outcome = recorded(second, parts);
      const says = parts.some(({ type }) => type === 'text');
      await second.say(says ? 'it up.' : '');
      await second.commit({ ...outcome, ...(says ? { calls: [] } : { reason: 'tool_calls' }) });
      const text = says ? 'I look it up.' : 'I look ';
      if (!says) {
        await engine.act((ctx) => cancelResponse(ctx, { responseId: id }));
      }
      expect((await engine.record(id)).output).toMatchObject([
        { type: 'reasoning', status: 'completed', summary: [{ text: 'At first.' }] },
        { type: 'message', content: [{ text }] },
        ...(says ? [] : [{ type: 'file_search_call' }]),
      ]);
      const { turn } = await engine.attempt(await engine.create({ previousResponseId: id }));
      expect(JSON.stringify(turn.messages)).not.toContain('At first.');
      expect(assistants(turn.messages)).toMatchObject(returns.map((more) => ({ ...more, text })));
    },
  );
});
