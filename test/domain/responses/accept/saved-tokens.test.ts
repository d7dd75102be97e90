import { inspect } from 'node:util';
import { MockActivityEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { screenPrompt } from '#activities/responses/screen-prompt.ts';
import { screen } from '#activities/responses/screening.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import { NamesNeeded } from '#domain/governance/redaction/found-names.ts';
import { piiSettings } from '#domain/governance/policy/pii-settings.ts';
import { showRestored } from '#domain/conversations/threads/show-restored.ts';
import { newResponseId } from '#domain/foundation/kernel/ids.ts';
import { createResponse } from '#domain/responses/accept/create-response.ts';
import type { ClaimedTurn } from '#domain/responses/prompt/turn-claim.ts';
import { deleteResponse } from '#domain/responses/end/delete-response.ts';
import { inspectResponse } from '#domain/responses/read/inspect-response.ts';
import { listInputItems } from '#domain/responses/read/list-input-items.ts';
import { Response } from '#domain/responses/record/response.entity.ts';
import { restartResponse } from '#domain/responses/accept/restart-response.ts';
import { updateThread } from '#domain/conversations/threads/update-thread.ts';
import { openEngine, requestOf, type Engine } from '../../../support/engine.ts';
import { longTexts } from '../../../support/long-texts.ts';
import { addMember, secrets } from '../../../support/world.ts';

const value = 'anna.meier@example.org';
const said = `Write to ${value}.`;
const input = [{ type: 'message' as const, role: 'user' as const, text: said }];
/** The prompt as an activity sends it. */
const sent = async (turn: ClaimedTurn) =>
  (await new MockActivityEnvironment().run(() => screenPrompt(parts(), turn))) as ClaimedTurn;
const limits = { maxActivePerSpace: 10_000, retentionSeconds: 600 };
const names = { find: () => Promise.resolve([]) };

let engine: Engine;
beforeAll(async () => {
  engine = await openEngine();
});
beforeEach(() => govern('redact'));
afterAll(() => engine.stop());

const govern = (mode: string) =>
  engine.admin.query('update spaces set policy = $1', [JSON.stringify({ version: 2, pii: { mode } })]);
const find = (ctx: Context, id: string) => ctx.em.findOneOrFail(Response, { id });
const redactionOf = (id: string) => engine.act(async (ctx) => (await find(ctx, id)).request.redaction!);
const parts = () => ({ unitOfWork: engine.database.unitOfWork, secrets, names, longTexts });

async function screened(id: string, text: string): Promise<string> {
  const of = { tenantId: engine.world.tenantId, responseId: id, redaction: await redactionOf(id) };
  return screen(parts(), of, (redactor) => redactor.text(text));
}

async function fail(id: string): Promise<string> {
  await engine.admin.query(`update responses set status = 'failed', finished_at = now() where id = $1`, [id]);
  return id;
}

const restart = (responseId: string) =>
  engine.act((ctx) => restartResponse(ctx, { responseId }, { newId: newResponseId(), limits }));

async function firstInput(responseId: string): Promise<unknown> {
  const page = await engine.act((ctx) => listInputItems(ctx, { responseId, limit: 1, cursor: null }));
  return (page.items[0] as { content: { text: string }[] }).content[0]!.text;
}

describe('another principal’s value', () => {
  it('that a tool echoes is not shown to the requester of the call', async () => {
    const theirs = await engine.create({ input });
    await (await engine.attempt(theirs)).commit();
    const guest = await addMember(engine.database.unitOfWork, engine.world);
    const as = { principalId: guest.principalId };
    const id = newResponseId();
    const request = requestOf(engine.world, { previousResponseId: theirs });
    await engine.act((ctx) => createResponse(ctx, request, { responseId: id, limits }), as);
    const result = await screened(id, `${value} and guest@example.org are in the box.`);
    const show = (change: { principalId?: string; granted?: ReadonlySet<never> }) =>
      engine.act(async (ctx) => showRestored(ctx, await find(ctx, id), result), change);
    expect(await show({ ...as, granted: new Set() })).toMatch(
      /^\[EMAIL_\w{12}\] and guest@example.org are in the box\.$/,
    );
    expect(await show({})).toBe(`${value} and guest@example.org are in the box.`);
  });
});

describe('an inspection', () => {
  it('shows values to principals who may see them', async () => {
    const id = await engine.create({ input });
    const attempt = await engine.attempt(id);
    const received = (await sent(attempt.turn)).messages.at(-1) as { text: string };
    await attempt.say(received.text);
    await attempt.commit();
    const { record } = await engine.act((ctx) => inspectResponse(ctx, { responseId: id }));
    expect(record.output).toMatchObject([{ content: [{ text: said }] }]);
  });
});

describe('a restarted response', () => {
  it('keeps the values of its tokens when the failed one is purged', async () => {
    const id = await fail(await engine.create({ input }));
    const again = await restart(id);
    await engine.act((ctx) => deleteResponse(ctx, { responseId: id }));
    // As its purge does in the end.
    await engine.admin.query('delete from redactions where response_id = $1', [id]);
    expect(await firstInput(again.id)).toBe(said);
  });

  it('is screened when its space demands redaction meanwhile', async () => {
    await govern('off');
    const id = await fail(await engine.create({ input }));
    await govern('redact');
    const again = await restart(id);
    expect(again.platform.governance_applied.pii).toMatchObject({ mode: 'redact' });
    const { turn } = await engine.attempt(again.id);
    const prompt = await sent(turn);
    expect(prompt.messages.at(-1)).toMatchObject({
      text: expect.stringMatching(/^Write to \[EMAIL_\w+\]\.$/),
    });
  });

  it('is restarted in an active thread only, where no other runs', async () => {
    const thread = await engine.begin();
    const id = await fail(await engine.create({ thread }));
    const running = await engine.create({ thread });
    await expect(restart(id)).rejects.toMatchObject({ code: 'previous_response_in_progress' });
    await fail(running);
    const put = (status: 'archived' | 'active') =>
      engine.act((ctx) => updateThread(ctx, { threadId: thread.threadId, status }));
    await put('archived');
    await expect(restart(id)).rejects.toMatchObject({ code: 'thread_archived' });
    await put('active');
    expect((await restart(id)).platform.thread_id).toBe(thread.threadId);
  });
});

describe('screening', () => {
  it('continues when the thread for the values is deleted', async () => {
    const thread = await engine.begin();
    const id = await engine.create({ thread });
    await engine.admin.query('delete from threads where id = $1', [thread.threadId]);
    expect(await screened(id, said)).toMatch(/^Write to \[EMAIL_\w{12}\]\.$/);
  });

  it('drops reasoning about values from before the space demanded redaction, and keeps other reasoning', async () => {
    const { turn } = await engine.attempt(await engine.create({ input }));
    const thought = (text: string) => ({
      role: 'assistant' as const,
      reasoning: [{ text, state: { signature: 's' } }],
      text: '',
      calls: [{ callId: 'c', name: 'f', arguments: '{}', state: { id: 'c' } }],
    });
    const messages = [thought('Tides.'), thought(said), turn.messages.at(-1)!];
    const prompt = await sent({ ...turn, messages });
    expect(JSON.stringify(prompt.messages)).not.toContain(value);
    expect(prompt.messages[0]).toEqual(messages[0]);
    expect(prompt.messages[1]).toEqual({
      role: 'assistant',
      text: '',
      calls: [{ callId: 'c', name: 'f', arguments: '{}' }],
    });
  });

  it('includes no text in the error that names have to be searched for', () => {
    const error = new NamesNeeded(piiSettings.parse({}), [said]);
    expect(error.texts).toEqual([said]);
    expect(inspect(error, { depth: 9, showHidden: true }) + JSON.stringify(error)).not.toContain(value);
  });
});
