import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { restartResponse } from '#domain/responses/accept/restart-response.ts';
import { closeResponse } from '#domain/responses/end/close-response.ts';
import { newClaimant } from '#domain/responses/calls/call-lease.ts';
import { claimCall, type CallClaim } from '#domain/responses/calls/claim-call.ts';
import { newResponseId } from '#domain/foundation/kernel/ids.ts';
import { createResponse } from '#domain/responses/accept/create-response.ts';
import type { CreateResponseInput } from '#domain/responses/record/create-input.ts';
import { commitCall } from '#domain/responses/calls/commit-call.ts';
import { connectServer, tool, type Connected } from '../../../support/connected-server.ts';
import { openEngine, requestOf, search, type Engine } from '../../../support/engine.ts';

let engine: Engine;
let crm: Connected;
const claims = { readOnlyHint: true, idempotentHint: true };
const listed = [tool('once', { annotations: claims }), tool('again'), tool('ask')];

beforeAll(async () => {
  engine = await openEngine();
  crm = await connectServer(engine, {
    slug: 'crm',
    tools: listed,
    settings: [
      { name: 'again', repeatable: true },
      { name: 'ask', requireApproval: true },
    ],
  });
});
afterAll(() => engine.stop());

const inTenant = <T>(work: Parameters<Engine['database']['unitOfWork']['inTenant']>[1]) =>
  engine.database.unitOfWork.inTenant(engine.world.tenantId, work) as Promise<T>;
/** By an attempt that has verified that no other attempt holds the call any more. */
const claim = async (responseId: string, callIndex = 0, iteration = 0) => {
  await engine.admin.query('update tool_calls set leased_until = now() where response_id = $1', [responseId]);
  const claimant = { ...newClaimant(), looks: Number.POSITIVE_INFINITY };
  return claimCall(
    engine.database,
    { tenantId: engine.world.tenantId, responseId, iteration, callIndex },
    claimant,
  );
};
const settle = (responseId: string, callIndex = 0, iteration = 0) =>
  commitCall(
    engine.database,
    { tenantId: engine.world.tenantId, responseId, iteration, callIndex },
    { outcome: 'succeeded', result: 'ok', end: { status: 'completed', output: 'ok', results: null } },
  );
const asked = (name: string, args: object = {}) => ({ name, arguments: JSON.stringify(args) });

async function withCalls(calls: ReturnType<typeof asked>[], input: Partial<CreateResponseInput> = {}) {
  const id = await engine.create(input);
  const result = await (await engine.attempt(id)).commit({ calls, reason: 'tool_calls' });
  return { id, result };
}

const follow = (input: Partial<CreateResponseInput>) => {
  const responseId = newResponseId();
  const limits = { maxActivePerSpace: 1_000, retentionSeconds: 60 };
  return engine
    .act((ctx) => createResponse(ctx, requestOf(engine.world, input), { responseId, limits }))
    .then(() => responseId);
};
const client: CreateResponseInput['tools'] = [
  { type: 'function', name: 'ask_user', description: 'Asks.', parameters: { type: 'object' } },
  { type: 'pattern', slug: 'crm', tool: null },
  { type: 'knowledge_search', collectionIds: null, maxNumResults: null, alpha: null },
];
const user = (text: string) => ({ type: 'message' as const, role: 'user' as const, text });

/** The server changes the definition of a tool, and a person approves the change. */
async function redefine(name: string, description: string, setting: object = {}) {
  await crm.discover(listed.map((each) => (each.name === name ? { ...each, description } : each)));
  await crm.enable(['once', 'again', 'ask'], [{ name, ...setting }]);
}

describe('a call at a tool server that was started and lost its worker', () => {
  it('is unknown, whatever the server claims about the tool', async () => {
    const { id } = await withCalls([asked('mcp__crm__once')]);
    expect((await claim(id)).kind).toBe('claimed');
    expect(await claim(id)).toEqual({ kind: 'unknown' });
  });

  it('is made again with the same key when our record says repeatable, a limited number of times', async () => {
    const { id } = await withCalls([asked('mcp__crm__again')]);
    const first = await claim(id);
    const second = await claim(id);
    expect([first, second]).toMatchObject([
      { kind: 'claimed', call: { target: { again: false } } },
      { kind: 'claimed', call: { target: { again: true } } },
    ]);
    const keyOf = (each: CallClaim) => (each.kind === 'claimed' ? each.call.idempotencyKey : null);
    expect(keyOf(second)).toBe(keyOf(first));
    let made = 2;
    while ((await claim(id)).kind === 'claimed') made += 1;
    expect(made).toBe(8);
    expect(await claim(id)).toEqual({ kind: 'unknown' });
  });

  it('is unknown when the declaration was withdrawn meanwhile', async () => {
    const { id } = await withCalls([asked('mcp__crm__again')]);
    await claim(id);
    await crm.enable(['once', 'again', 'ask'], [{ name: 'again', repeatable: false }]);
    expect(await claim(id)).toEqual({ kind: 'unknown' });
    await crm.enable(['once', 'again', 'ask'], [{ name: 'again', repeatable: true }]);
  });
});

it('a repeatable call is not repeated with a definition other than its own', async () => {
  const { id } = await withCalls([asked('mcp__crm__again')]);
  expect((await claim(id)).kind).toBe('claimed');
  await redefine('again', 'Else.', { repeatable: true });
  expect(await claim(id)).toEqual({ kind: 'unknown' });
  await redefine('again', 'Does again.', { repeatable: true });
});

describe('a call at a tool server that was only planned', () => {
  it('is withheld when its tool has changed or was switched off since it was offered', async () => {
    const changed = await withCalls([asked('mcp__crm__once')]);
    await crm.discover([tool('once', { description: 'Else.' }), ...listed.slice(1)]);
    expect(await claim(changed.id)).toEqual({ kind: 'withheld' });
    await crm.discover(listed);
    expect((await claim(changed.id)).kind).toBe('claimed');
    const off = await withCalls([asked('mcp__crm__once')]);
    await crm.enable(['again', 'ask']);
    expect(await claim(off.id)).toEqual({ kind: 'withheld' });
    await crm.enable(['once', 'again', 'ask']);
  });

  it('is withheld when another definition than the one offered was approved since', async () => {
    const { id } = await withCalls([asked('mcp__crm__once')]);
    await redefine('once', 'Else.');
    expect(await claim(id)).toEqual({ kind: 'withheld' });
    const now = await withCalls([asked('mcp__crm__once')]);
    expect((await claim(now.id)).kind).toBe('claimed');
    await redefine('once', 'Does once.');
    expect((await claim(id)).kind).toBe('claimed');
  });

  it('is withheld when its tool came to be callable as a task only', async () => {
    const { id } = await withCalls([asked('mcp__crm__once')]);
    await crm.discover(listed.map((each) => (each.name === 'once' ? { ...each, requiresTask: true } : each)));
    expect(await claim(id)).toEqual({ kind: 'withheld' });
    await crm.discover(listed);
    expect((await claim(id)).kind).toBe('claimed');
  });

  it('is withheld when its tool came to need consent since it was offered', async () => {
    const { id } = await withCalls([asked('mcp__crm__once')]);
    await crm.enable(['once', 'again', 'ask'], [{ name: 'once', requireApproval: true }]);
    expect(await claim(id)).toEqual({ kind: 'withheld' });
    await crm.enable(['once', 'again', 'ask'], [{ name: 'once', requireApproval: false }]);
    expect((await claim(id)).kind).toBe('claimed');
  });

  it('is denied by name without tools.execute, and unknown when it had been started', async () => {
    const sent = await withCalls([asked('mcp__crm__again')]);
    await claim(sent.id);
    const { id } = await withCalls([asked('mcp__crm__once'), search('x')]);
    const { tenantId, owner } = engine.world;
    const assign = async (role: string) => {
      await engine.admin.query('delete from role_assignments where principal_id = $1', [owner.principalId]);
      await engine.admin.query(
        'insert into role_assignments (tenant_id, principal_id, role_key) values ($1, $2, $3)',
        [tenantId, owner.principalId, role],
      );
    };
    await engine.admin.query('delete from space_members where principal_id = $1', [owner.principalId]);
    await engine.admin.query(
      `insert into roles (tenant_id, id, key, name, permissions)
         values ($1, gen_random_uuid(), 'searcher', 'Searcher', '{knowledge.search}')`,
      [tenantId],
    );
    await assign('searcher');
    expect(await claim(id, 0)).toEqual({
      kind: 'denied',
      message: 'Missing permission tools.execute in this space.',
    });
    expect((await claim(id, 1)).kind).toBe('claimed');
    expect(await claim(sent.id)).toEqual({ kind: 'unknown' });
    await assign('owner');
  });
});

it('a call that the caller forbade is not made, whatever the model asks', async () => {
  const { id, result } = await withCalls([asked('mcp__crm__once')], { toolChoice: 'none' });
  expect(result).toEqual({ next: 'tools', calls: [] });
  const { turn } = await engine.attempt(id, 1);
  expect(turn.messages.at(-1)).toMatchObject({ role: 'tool', result: 'This tool was not offered.' });
});

describe('a call of the caller’s own function', () => {
  it('ends the response after the server calls of its turn, and its output continues from there', async () => {
    const calls = [asked('mcp__crm__once'), asked('ask_user', { q: 'Which?' })];
    const { id, result } = await withCalls(calls, { tools: client });
    expect(result).toMatchObject({ next: 'tools', calls: [{ index: 0 }] });
    await claim(id);
    await settle(id);
    expect(await engine.claim(id, 1)).toMatchObject({ kind: 'settled', result: { next: 'done' } });
    const record = await engine.record(id);
    expect(record.status).toBe('completed');
    expect(record.output).toMatchObject([
      { type: 'mcp_call', status: 'completed' },
      { type: 'function_call', status: 'completed', name: 'ask_user' },
    ]);
    const callId = record.output[1]?.type === 'function_call' ? record.output[1].call_id : '';
    await expect(follow({ previousResponseId: id, input: [user('Well?')] })).rejects.toMatchObject({
      code: 'tool_output_missing',
      detail: { callIds: [callId] },
    });
    const output = { type: 'function_call_output' as const, callId, output: 'The red one.' };
    await expect(follow({ previousResponseId: id, input: [output, output] })).rejects.toMatchObject({
      code: 'invalid_request',
    });
    const next = await follow({ previousResponseId: id, input: [output, user('Go on.')] });
    const { turn } = await engine.attempt(next);
    expect(turn.messages).toMatchObject([
      { role: 'system' },
      { role: 'user' },
      { role: 'assistant', calls: [{ name: 'mcp__crm__once' }, { callId, name: 'ask_user' }] },
      { role: 'tool', name: 'mcp__crm__once', result: 'ok' },
      { role: 'tool', callId, name: 'ask_user', result: 'The red one.' },
      { role: 'user', text: 'Go on.' },
    ]);
  });

  it('may come whole in the input, with its output', async () => {
    const call = { type: 'function_call' as const, callId: 'mine', name: 'ask_user', arguments: '{}' };
    await expect(follow({ input: [user('Hi.'), call] })).rejects.toMatchObject({
      code: 'tool_output_missing',
      detail: { callIds: ['mine'] },
    });
    const output = { type: 'function_call_output' as const, callId: 'mine', output: 'Yes.' };
    const id = await follow({ input: [user('Hi.'), call, output], tools: [] });
    const { turn } = await engine.attempt(id);
    expect(turn.messages).toMatchObject([
      { role: 'user' },
      { role: 'assistant', calls: [{ callId: 'mine' }] },
      { role: 'tool', callId: 'mine', result: 'Yes.' },
    ]);
    await expect(follow({ input: [user('Hi.'), output] })).rejects.toMatchObject({ code: 'invalid_request' });
  });
});

describe('a call that needs consent', () => {
  const waiting = async () => {
    const { id, result } = await withCalls([asked('mcp__crm__ask', { who: 'Ann' })]);
    expect(result).toMatchObject({ next: 'done', calls: [], end: expect.anything() });
    const record = await engine.record(id);
    expect(record).toMatchObject({
      status: 'completed',
      output: [{ type: 'mcp_approval_request', name: 'ask', arguments: '{"who":"Ann"}' }],
    });
    return { id, requestId: record.output[0]!.id };
  };
  const answer = (requestId: string, approve: boolean, reason: string | null = null) => ({
    type: 'mcp_approval_response' as const,
    approvalRequestId: requestId,
    approve,
    reason,
  });

  it('is made once it is approved, exactly as it was requested, before the model goes on', async () => {
    const { id, requestId } = await waiting();
    const next = await follow({ previousResponseId: id, input: [answer(requestId, true)], tools: [] });
    expect(await engine.claim(next)).toMatchObject({
      kind: 'settled',
      result: { next: 'tools', calls: [{ index: 0 }] },
    });
    expect(await claim(next)).toMatchObject({
      kind: 'claimed',
      call: { arguments: '{"who":"Ann"}', target: { kind: 'mcp', tool: 'ask' } },
    });
    await settle(next);
    const { turn } = await engine.attempt(next, 1);
    expect(turn.messages).toMatchObject([
      { role: 'user' },
      { role: 'assistant', calls: [{ name: 'mcp__crm__ask' }] },
      { role: 'tool', name: 'mcp__crm__ask', result: 'ok' },
    ]);
    expect((await engine.record(next)).output).toMatchObject([
      { type: 'mcp_call', name: 'ask', approval_request_id: requestId, status: 'completed' },
    ]);
  });

  it('is not made when a definition other than the consented one was approved since', async () => {
    const { id, requestId } = await waiting();
    await redefine('ask', 'Else.', { requireApproval: true });
    const next = await follow({ previousResponseId: id, input: [answer(requestId, true)], tools: [] });
    await engine.claim(next);
    expect(await claim(next)).toEqual({ kind: 'withheld' });
    await redefine('ask', 'Does ask.', { requireApproval: true });
  });

  it('is made by no second approval, in any response', async () => {
    const { id, requestId } = await waiting();
    await follow({ previousResponseId: id, input: [answer(requestId, true)] });
    for (const approve of [true, false]) {
      await expect(
        follow({ previousResponseId: id, input: [answer(requestId, approve)] }),
      ).rejects.toMatchObject({ code: 'invalid_state' });
    }
  });

  it('is made by one restart of a response that failed before it, and by none of a response that began it', async () => {
    const { id, requestId } = await waiting();
    const first = await follow({ previousResponseId: id, input: [answer(requestId, true)], tools: [] });
    const limits = { maxActivePerSpace: 1_000, retentionSeconds: 60 };
    const restart = (responseId: string) =>
      engine.act((ctx) => restartResponse(ctx, { responseId }, { newId: newResponseId(), limits }));
    const fail = (responseId: string) =>
      inTenant<unknown>((em) => closeResponse(em, responseId, { kind: 'failed', code: 'internal_error' }));
    await engine.claim(first);
    await fail(first);
    const { id: second } = await restart(first);
    await expect(restart(first)).rejects.toMatchObject({ code: 'invalid_state' });
    await engine.claim(second);
    expect((await claim(second)).kind).toBe('claimed');
    await fail(second);
    await expect(restart(second)).rejects.toMatchObject({ code: 'invalid_state' });
  });

  it('is not made when it is refused, and the model receives the reason', async () => {
    const { id, requestId } = await waiting();
    const next = await follow({ previousResponseId: id, input: [answer(requestId, false, 'Too early.')] });
    const { turn } = await engine.attempt(next);
    expect(turn.messages.at(-1)).toMatchObject({
      role: 'tool',
      name: 'mcp__crm__ask',
      result: 'This call was not approved and was not made. Reason: Too early.',
    });
  });

  it('stays unmade when the conversation goes on without an answer', async () => {
    const { id } = await waiting();
    const next = await follow({ previousResponseId: id, input: [user('Never mind.')] });
    const { turn } = await engine.attempt(next);
    expect(turn.messages).toContainEqual(
      expect.objectContaining({ role: 'tool', name: 'mcp__crm__ask', result: 'This call was never run.' }),
    );
  });

  it('is answered only in its own conversation', async () => {
    const { requestId } = await waiting();
    const other = await waiting();
    for (const previousResponseId of [other.id, null]) {
      await expect(follow({ previousResponseId, input: [answer(requestId, true)] })).rejects.toMatchObject({
        code: 'invalid_request',
      });
    }
  });
});
