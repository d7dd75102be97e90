import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cancelResponse } from '#domain/responses/end/cancel-response.ts';
import { claimCall, type CallClaim } from '#domain/responses/calls/claim-call.ts';
import { commitCall, type CallOutcome } from '#domain/responses/calls/commit-call.ts';
import { openEngine, search, type Engine } from '../../../support/engine.ts';

let engine: Engine;

beforeAll(async () => {
  engine = await openEngine();
});
afterAll(() => engine.stop());

const key = (responseId: string, callIndex: number) => ({
  tenantId: engine.world.tenantId,
  responseId,
  iteration: 0,
  callIndex,
});

const claim = (responseId: string, callIndex = 0): Promise<CallClaim> =>
  claimCall(engine.database, key(responseId, callIndex));

const found: CallOutcome = {
  outcome: 'succeeded',
  result: '{"results":[]}',
  end: { status: 'completed', output: '', results: null },
};

const commit = (responseId: string, callIndex = 0, outcome = found) =>
  commitCall(engine.database, key(responseId, callIndex), outcome);

/** A response whose first turn called these searches. */
async function withCalls(...queries: string[]): Promise<string> {
  const id = await engine.create();
  await (await engine.attempt(id)).commit({ calls: queries.map(search), reason: 'tool_calls' });
  return id;
}

const ledger = async (id: string) => {
  const { rows } = await engine.admin.query<{ status: string; outcome: string | null }>(
    'select status, outcome from tool_calls where response_id = $1 order by call_index',
    [id],
  );
  return rows.map((row) => `${row.status} ${row.outcome}`);
};

const typesOf = async (id: string) => (await engine.events(id)).map((event) => String(event['type']));

describe('a tool call', () => {
  it('goes from planned to started to done, and publishes each step once', async () => {
    const id = await withCalls('tides');
    expect(await ledger(id)).toEqual(['planned null']);
    expect((await claim(id)).kind).toBe('claimed');
    expect(await ledger(id)).toEqual(['started null']);
    await commit(id);
    expect(await ledger(id)).toEqual(['done succeeded']);
    const before = await engine.events(id);
    expect((await claim(id)).kind).toBe('settled');
    await commit(id);
    expect(await engine.events(id)).toEqual(before);
    expect((await typesOf(id)).filter((type) => type.includes('file_search_call'))).toEqual([
      'response.file_search_call.in_progress',
      'response.file_search_call.searching',
      'response.file_search_call.completed',
    ]);
  });

  it('may be claimed again when its worker was lost: a search reads only', async () => {
    const id = await withCalls('tides');
    const first = await claim(id);
    const second = await claim(id);
    expect(second).toEqual(first);
    expect((await typesOf(id)).filter((type) => type.endsWith('searching'))).toHaveLength(1);
  });

  it('does not fence its neighbours: five claimed and committed at once all go in', async () => {
    const id = await withCalls('a', 'b', 'c', 'd', 'e');
    const indexes = [0, 1, 2, 3, 4];
    await Promise.all(
      indexes.map(async (index) => {
        await claim(id, index);
        await commit(id, index, { ...found, result: `{"results":[],"of":${index}}` });
      }),
    );
    expect(await ledger(id)).toEqual(indexes.map(() => 'done succeeded'));
    const numbers = (await engine.events(id)).map((event) => event['sequence_number']);
    expect(numbers).toEqual(numbers.map((_, n) => n));
    const { turn } = await engine.attempt(id, 1);
    expect(turn.messages.filter((message) => message.role === 'tool')).toMatchObject(
      indexes.map((index) => ({ result: `{"results":[],"of":${index}}` })),
    );
  });

  it('that ends after the response did resolves its ledger row and publishes nothing', async () => {
    const id = await withCalls('tides');
    await claim(id);
    await engine.act((ctx) => cancelResponse(ctx, { responseId: id }));
    const before = await engine.events(id);
    await commit(id);
    expect(await ledger(id)).toEqual(['done succeeded']);
    expect(await engine.events(id)).toEqual(before);
    expect((await engine.record(id)).output).toMatchObject([
      { type: 'file_search_call', status: 'incomplete' },
    ]);
  });

  it('is not begun once the response is cancelled', async () => {
    const id = await withCalls('tides');
    await engine.act((ctx) => cancelResponse(ctx, { responseId: id }));
    expect((await claim(id)).kind).toBe('settled');
    expect(await ledger(id)).toEqual(['planned null']);
  });

  it('of a tool that was not offered fails without a ledger row, and the model receives the failure', async () => {
    const id = await engine.create();
    const result = await (
      await engine.attempt(id)
    ).commit({ calls: [{ name: 'launch', arguments: '{}' }, search('tides')], reason: 'tool_calls' });
    expect(result.calls).toMatchObject([{ index: 1 }]);
    expect(await ledger(id)).toEqual(['planned null']);
    const { turn } = await engine.attempt(id, 1);
    expect(turn.messages).toContainEqual(
      expect.objectContaining({ role: 'tool', name: 'launch', result: 'This tool was not offered.' }),
    );
  });

  it('is denied after the permission went, with one event, and names what is missing', async () => {
    const other = await openEngine();
    try {
      const id = await other.create();
      await (await other.attempt(id)).commit({ calls: [search('a'), search('b')], reason: 'tool_calls' });
      await other.admin.query(
        `delete from role_assignments; delete from space_members;
         insert into roles (tenant_id, id, key, name, permissions)
           select tenant_id, gen_random_uuid(), 'reader', 'Reader', '{collections.read}' from tenants;
         insert into role_assignments (tenant_id, principal_id, role_key)
           select tenant_id, id, 'reader' from principals`,
      );
      for (const callIndex of [0, 1]) {
        const { tenantId } = other.world;
        const denied = await claimCall(other.database, { tenantId, responseId: id, iteration: 0, callIndex });
        expect(denied).toMatchObject({
          kind: 'denied',
          message: 'Missing permission knowledge.search in this space.',
        });
      }
      const { rows } = await other.admin.query<{ metadata: unknown }>(
        `select metadata from events where event_type = 'space.tool_blocked'`,
      );
      expect(rows).toMatchObject([{ metadata: { missing_permission: 'knowledge.search' } }]);
    } finally {
      await other.stop();
    }
  });
});
