import { estimateTokens } from '#domain/foundation/kernel/estimate-tokens.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ModelFailure } from '#domain/capabilities/models/model-gateway.ts';
import { claimCall } from '#domain/responses/calls/claim-call.ts';
import { commitCall } from '#domain/responses/calls/commit-call.ts';
import { cancelResponse } from '#domain/responses/end/cancel-response.ts';
import { failTurn } from '#domain/responses/turn/fail-turn.ts';
import type { CreateResponseInput } from '#domain/responses/record/create-input.ts';
import { openEngine, search, usage, type Engine } from '../../../support/engine.ts';

let engine: Engine;

beforeAll(async () => {
  engine = await openEngine();
});
afterAll(() => engine.stop());

async function endingOf(responseId: string): Promise<string | null> {
  const { status, platform } = await engine.record(responseId);
  return `${status}: ${platform.incomplete_reason ?? platform.failure_reason?.code}`;
}

/** The first turn of a response, committed with a call, so that a second turn follows. */
async function afterFirstTurn(input: Partial<CreateResponseInput>): Promise<string> {
  const id = await engine.create(input);
  const attempt = await engine.attempt(id);
  await attempt.commit({ calls: [search('tides')], reason: 'tool_calls' });
  return id;
}

describe('limits', () => {
  it('give the model the rest of max_output_tokens, and end the response when nothing is left', async () => {
    const id = await afterFirstTurn({ maxOutputTokens: 50 });
    expect((await engine.attempt(id, 1)).turn.maxOutputTokens).toBe(30);
    const spent = await afterFirstTurn({ maxOutputTokens: 20 });
    expect((await engine.claim(spent, 1)).kind).toBe('settled');
    expect(await endingOf(spent)).toBe('incomplete: max_output_tokens');
  });

  it('hold max_output_tokens over all attempts at a turn: text published by an interrupted attempt counts', async () => {
    const said = 'The tide turns twice a day. '.repeat(5);
    const id = await engine.create({ maxOutputTokens: 100 });
    await (await engine.attempt(id)).say(said);
    const second = await engine.attempt(id);
    expect(second.turn.maxOutputTokens).toBe(100 - estimateTokens(said));
    const more = 'At half moon high water stays low. '.repeat(3);
    await second.say(more);
    const third = await engine.attempt(id);
    expect(third.turn.maxOutputTokens).toBe(100 - estimateTokens(said + more));
    await third.commit({ calls: [search('tides')], reason: 'tool_calls' });
    const kept = estimateTokens(said) + estimateTokens(more) + usage.outputTokens;
    expect((await engine.attempt(id, 1)).turn.maxOutputTokens, 'in a later turn').toBe(100 - kept);
  });

  it('end a response that was interrupted when nothing is left of max_output_tokens, with all of its text', async () => {
    const said = 'The tide turns twice a day. '.repeat(5);
    const id = await engine.create({ maxOutputTokens: 20 });
    await (await engine.attempt(id)).say(said);
    expect((await engine.claim(id)).kind).toBe('settled');
    expect(await endingOf(id)).toBe('incomplete: max_output_tokens');
    expect((await engine.record(id)).output).toMatchObject([
      { status: 'incomplete', content: [{ text: said }] },
    ]);
  });

  it('end a response whose model reached its maximum length', async () => {
    const id = await engine.create();
    const attempt = await engine.attempt(id);
    await attempt.say('To be cont');
    const end = { status: 'incomplete', reason: 'max_output_tokens' };
    expect(await attempt.commit({ reason: 'length' })).toEqual({ next: 'done', calls: [], end });
    expect(await endingOf(id)).toBe('incomplete: max_output_tokens');
    expect((await engine.record(id)).output).toMatchObject([{ status: 'incomplete' }]);
  });

  it('end a response that the vendor filtered', async () => {
    const id = await engine.create();
    await (await engine.attempt(id)).commit({ reason: 'content_filter' });
    expect(await endingOf(id)).toBe('incomplete: content_filter');
  });

  it('allow as many output tokens as the cost limit buys, and end the response when it buys none', async () => {
    // 60 input at 2.5, 40 cached at 0.25 and 20 output tokens at 10 dollars a million: 0.000360 dollars.
    const id = await afterFirstTurn({ maxCostUsd: '0.01' });
    const { turn } = await engine.attempt(id, 1);
    const spent = 360_000_000n;
    const { rows } = await engine.admin.query<{ input_tokens: string }>(
      'select input_tokens from usage_ledger where response_id = $1 and not settled',
      [id],
    );
    const reserved = BigInt(rows[0]!.input_tokens) * 2_500_000n;
    expect(turn.maxOutputTokens).toBe(Number((10_000_000_000n - spent - reserved) / 10_000_000n));
    const broke = await afterFirstTurn({ maxCostUsd: '0.00036' });
    expect((await engine.claim(broke, 1)).kind).toBe('settled');
    expect(await endingOf(broke)).toBe('incomplete: max_cost');
  });

  it('end a response after max_iterations turns', async () => {
    const id = await afterFirstTurn({ maxIterations: 1 });
    expect((await engine.claim(id, 1)).kind).toBe('settled');
    expect(await endingOf(id)).toBe('incomplete: max_iterations');
  });

  it('complete a response after max_iterations turns whose next step is its caller’s', async () => {
    const id = await engine.create({
      maxIterations: 1,
      tools: [
        { type: 'function', name: 'ask_user', description: 'Asks.', parameters: { type: 'object' } },
        { type: 'knowledge_search', collectionIds: null, maxNumResults: null, alpha: null },
      ],
    });
    const attempt = await engine.attempt(id);
    await attempt.commit({
      calls: [search('tides'), { name: 'ask_user', arguments: '{}' }],
      reason: 'tool_calls',
    });
    const key = { tenantId: engine.world.tenantId, responseId: id, iteration: 0, callIndex: 0 };
    await claimCall(engine.database, key);
    await commitCall(engine.database, key, {
      outcome: 'succeeded',
      result: '{"results":[]}',
      end: { status: 'completed', output: '', results: [] },
    });
    expect((await engine.claim(id, 1)).kind).toBe('settled');
    expect(await endingOf(id)).toBe('completed: undefined');
  });

  it('end a response whose turn asks for more than max_tool_calls, and run none of them', async () => {
    const id = await engine.create({ maxToolCalls: 2 });
    const attempt = await engine.attempt(id);
    const result = await attempt.commit({
      calls: [search('a'), search('b'), search('c')],
      reason: 'tool_calls',
    });
    expect(result).toMatchObject({ next: 'done', calls: [], end: { status: 'incomplete' } });
    expect(await endingOf(id)).toBe('incomplete: max_tool_calls');
    const { rows } = await engine.admin.query('select from tool_calls where response_id = $1', [id]);
    expect(rows).toEqual([]);
  });

  it('let a chain grow to 200 responses, and refuse the next', async () => {
    const answered = async (previousResponseId: string | null) => {
      const id = await engine.create({ previousResponseId });
      await (await engine.attempt(id)).commit();
      return id;
    };
    const parent = await answered(null);
    // As if the chain already had 198.
    await engine.admin.query('update responses set chain_depth = 198 where id = $1', [parent]);
    const last = await answered(parent);
    const count = async () => (await engine.admin.query('select from responses')).rowCount;
    const before = await count();
    await expect(engine.create({ previousResponseId: last })).rejects.toMatchObject({
      code: 'context_length_exceeded',
      detail: { param: 'previous_response_id' },
    });
    expect(await count()).toBe(before);
  });

  it('end a response at its deadline when a turn is claimed', async () => {
    const id = await engine.create();
    await engine.attempt(id);
    await engine.admin.query(`update responses set deadline_at = now() where id = $1`, [id]);
    expect((await engine.claim(id)).kind).toBe('settled');
    expect(await endingOf(id)).toBe('incomplete: deadline_exceeded');
  });
});

describe("a vendor's failure", () => {
  const fail = async (id: string, failure: ModelFailure) => {
    const { turn } = await engine.attempt(id);
    return engine.database.unitOfWork.inTenant(turn.tenantId, (em) => failTurn(em, turn, failure));
  };
  const limited = (retryAfterMs: number | null) =>
    new ModelFailure('rate_limited', { retryable: true, retryAfterMs });

  it('is retried four times with growing pauses, then fails the response', async () => {
    const id = await engine.create();
    const verdicts = [];
    for (let failures = 0; failures < 5; failures += 1) {
      verdicts.push(await fail(id, limited(null)));
    }
    expect(verdicts).toEqual([
      ...[500, 1_000, 2_000, 4_000].map((delayMs) => ({ kind: 'retry', delayMs })),
      { kind: 'failed', code: 'rate_limited' },
    ]);
    expect(await endingOf(id)).toBe('failed: rate_limited');
  });

  it('waits as long as the vendor asks', async () => {
    const id = await engine.create();
    expect(await fail(id, limited(1_234))).toEqual({ kind: 'retry', delayMs: 1_234 });
  });

  it('fails the response at once when it is not retryable', async () => {
    const id = await engine.create();
    const failure = new ModelFailure('context_length_exceeded', { retryable: false });
    expect(await fail(id, failure)).toEqual({ kind: 'failed', code: 'context_length_exceeded' });
    expect(await endingOf(id)).toBe('failed: context_length_exceeded');
  });

  it('is counted separately from crashes', async () => {
    const id = await engine.create();
    for (let crash = 0; crash < 6; crash += 1) {
      await engine.attempt(id);
    }
    expect(await fail(id, limited(null))).toEqual({ kind: 'retry', delayMs: 500 });
  });
});

describe('the usage ledger', () => {
  const ledger = async (id: string) => {
    const { rows } = await engine.admin.query<Record<string, unknown>>(
      `select iteration, attempt, settled, estimated, aborted, input_tokens::int, output_tokens::int,
         cost_pico_usd::text as cost
       from usage_ledger where response_id = $1 order by iteration, attempt`,
      [id],
    );
    return rows;
  };

  it('records an estimate when an attempt is claimed and replaces it by the vendor’s figures', async () => {
    const id = await engine.create();
    const attempt = await engine.attempt(id);
    expect(await ledger(id)).toMatchObject([{ attempt: 1, settled: false, cost: '0' }]);
    expect((await engine.record(id)).usage.input_tokens).toBe(0);
    await attempt.commit({ usage });
    expect(await ledger(id)).toEqual([
      {
        iteration: 0,
        attempt: 1,
        settled: true,
        estimated: false,
        aborted: false,
        input_tokens: 100,
        output_tokens: 20,
        cost: '360000000',
      },
    ]);
    expect((await engine.record(id)).usage).toEqual({
      input_tokens: 100,
      cached_input_tokens: 40,
      output_tokens: 20,
      reasoning_tokens: 5,
      cost_usd: '0.000360',
    });
  });

  it('estimates an interrupted attempt once, and sums all attempts', async () => {
    const id = await engine.create();
    await (await engine.attempt(id)).say('Some words that were already published. ');
    const second = await engine.attempt(id);
    const [orphan] = await ledger(id);
    expect(orphan).toMatchObject({ attempt: 1, settled: true, estimated: true, aborted: true });
    expect(orphan!['output_tokens']).toBeGreaterThan(0);
    await second.say('And many more of them, so that another estimate would be another one. ');
    const third = await engine.attempt(id);
    await third.say('And the rest of it.');
    await third.commit({ usage });
    const rows = await ledger(id);
    expect(rows[0]).toEqual(orphan);
    const record = await engine.record(id);
    const total = (column: string) => rows.reduce((sum, row) => sum + Number(row[column]), 0);
    expect(rows[2]).toMatchObject({ input_tokens: 100, output_tokens: 20, estimated: false });
    expect(record.usage.input_tokens).toBe(total('input_tokens'));
    expect(record.usage.output_tokens).toBe(total('output_tokens'));
    const cost = rows.reduce((sum, row) => sum + BigInt(row['cost'] as string), 0n);
    expect(record.usage.cost_usd).toBe((Number(cost) / 1e12).toFixed(6));
    const terminal = (await engine.events(id)).at(-1);
    expect(terminal).toMatchObject({ type: 'response.completed', response: { usage: record.usage } });
  });

  it('counts the published text of a cancelled attempt', async () => {
    const id = await engine.create();
    await (await engine.attempt(id)).say('One, two, three, four.');
    await engine.act((ctx) => cancelResponse(ctx, { responseId: id }));
    expect(await ledger(id)).toMatchObject([{ settled: true, estimated: true, aborted: true }]);
    expect((await engine.record(id)).usage.output_tokens).toBeGreaterThan(0);
  });
});
