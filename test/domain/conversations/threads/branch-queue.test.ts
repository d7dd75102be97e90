import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cancelResponse } from '#domain/responses/end/cancel-response.ts';
import { deleteResponse } from '#domain/responses/end/delete-response.ts';
import { newResponseId } from '#domain/foundation/kernel/ids.ts';
import { purgeThreads } from '#domain/operations/maintenance/purge-threads.ts';
import { createOrm } from '#domain/operations/schema/orm.ts';
import { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { createResponse } from '#domain/responses/accept/create-response.ts';
import { deleteThread } from '#domain/conversations/threads/delete-thread.ts';
import { restartResponse } from '#domain/responses/accept/restart-response.ts';
import { addMessage } from '#domain/conversations/messages/add-message.ts';
import { openEngine, requestOf, type Engine } from '../../../support/engine.ts';
import { sweepOnce } from '../../../support/sweeps.ts';
import { connect, untilBlocked } from '../../../support/tables.ts';
import { addMember } from '../../../support/world.ts';

type Asked = NonNullable<Parameters<Engine['create']>[0]>;
type Branch = NonNullable<Asked['thread']>;

let engine: Engine;
let holder: Client;
let purgeOrm: ReturnType<typeof createOrm>;
beforeAll(async () => {
  engine = await openEngine();
  purgeOrm = createOrm({ url: engine.database.purgeUrl, statementTimeoutMs: 5_000, poolSize: 1 });
  holder = await connect(engine.database.adminUrl);
});
afterAll(async () => {
  await holder?.end();
  await purgeOrm?.close(true);
  await engine?.stop();
});

/** Another branch of its thread, from the first message on. */
async function fork({ threadId }: Branch): Promise<Branch> {
  const { rows } = await engine.admin.query<{ id: string }>(
    'select id from messages where thread_id = $1 order by position limit 1',
    [threadId],
  );
  const asked = {
    content: 'Or else',
    role: 'user' as const,
    metadata: {},
    branchId: null,
    idempotency: null,
  };
  const { message } = await engine.act((ctx) =>
    addMessage(ctx, { threadId, parentMessageId: rows[0]!.id, ...asked }),
  );
  return { threadId, branchId: message.branchId };
}

const limits = { maxActivePerSpace: 10_000, retentionSeconds: 600 };
const say = (text: string): Pick<Asked, 'input'> => ({ input: [{ type: 'message', role: 'user', text }] });
const enqueue = (thread: Branch, more: Asked = {}) => engine.create({ thread, onBusy: 'enqueue', ...more });

async function answer(id: string, text: string): Promise<void> {
  const attempt = await engine.attempt(id);
  await attempt.say(text);
  await attempt.commit();
}

async function ended(text: string): Promise<string> {
  const id = await engine.create(say(text));
  await answer(id, `${text}!`);
  return id;
}

/** The responses that a response waits for: null when it may begin. */
async function waits(id: string): Promise<string | null> {
  const { rows } = await engine.admin.query('select waits_for from responses where id = $1', [id]);
  return rows[0].waits_for;
}

const statusOf = async (id: string) => (await engine.record(id)).status;

/** The prompt that the model would receive. */
async function received(id: string): Promise<string[]> {
  const { turn } = await engine.attempt(id);
  return turn.messages.flatMap((message) =>
    message.role === 'system' || !('text' in message) ? [] : [message.text],
  );
}

/** Runs `work` while models count tokens in this way. */
async function within(tokens: number, work: () => Promise<void>): Promise<void> {
  const { rows } = await engine.admin.query<{ was: number }>('select max(context_window) as was from models');
  await engine.admin.query('update models set context_window = $1', [tokens]);
  try {
    await work();
  } finally {
    await engine.admin.query('update models set context_window = $1', [rows[0]?.was]);
  }
}

const cancel = (responseId: string) => engine.act((ctx) => cancelResponse(ctx, { responseId }));

/** Starts two operations while the row of a response is locked, and releases it when both wait. */
async function whileHeld<T>(responseId: string, work: () => Promise<T>): Promise<T> {
  await holder.query('begin');
  try {
    await holder.query('select from responses where id = $1 for update', [responseId]);
    const doing = work();
    doing.catch(() => {});
    await untilWaiting(2);
    await holder.query('commit');
    return await doing;
  } finally {
    await holder.query('rollback');
  }
}

const busy = (param: string) => ({ code: 'previous_response_in_progress', detail: { param } });

describe('a response that names the running one of its branch', () => {
  it('is refused, waits for it, or replaces it', async () => {
    const thread = await engine.begin();
    const running = await engine.create({ thread, ...say('One') });
    const asked = { thread, previousResponseId: running };
    await expect(engine.create(asked)).rejects.toMatchObject(busy('previous_response_id'));
    const next = await enqueue(thread, { ...asked, ...say('Two') });
    expect(await waits(next)).toBe(running);
    await answer(running, 'First.');
    expect(await received(next)).toEqual(['Hello', 'One', 'First.', 'Two']);
    const instead = await engine.create({
      thread,
      previousResponseId: next,
      onBusy: 'cancel_previous',
      ...say('Three'),
    });
    expect(await statusOf(next)).toBe('cancelled');
    expect(await received(instead)).toEqual(['Hello', 'One', 'First.', 'Two', 'Three']);
  });
});

describe('a response that names an ended one', () => {
  it('waits for the running one of its branch, and continues from the one it names', async () => {
    const thread = await engine.begin();
    const earlier = await ended('Before');
    const running = await engine.create({ thread, ...say('One') });
    const next = await enqueue(thread, { previousResponseId: earlier, ...say('Two') });
    expect(await waits(next)).toBe(running);
    // Its conversation is its own, as for any other response.
    await engine.act((ctx) => deleteResponse(ctx, { responseId: earlier }));
    await answer(running, 'First.');
    expect(await waits(next)).toBeNull();
    expect(await received(next)).toEqual(['Before', 'Before!', 'Two']);
  });

  it('is refused when that is purged meanwhile', async () => {
    const thread = await engine.begin();
    const earlier = await ended('Before');
    await engine.create({ thread });
    await holder.query('begin');
    try {
      await holder.query('select from responses where id = $1 for update', [earlier]);
      const next = enqueue(thread, { previousResponseId: earlier });
      next.catch(() => {});
      await untilBlocked(holder);
      for (const table of ['response_context', 'turn_attempts', 'turns', 'responses']) {
        const column = table === 'responses' ? 'id' : 'response_id';
        await holder.query(`delete from ${table} where ${column} = $1`, [earlier]);
      }
      await holder.query('commit');
      await expect(next).rejects.toMatchObject({ code: 'previous_response_not_found' });
    } finally {
      await holder.query('rollback');
    }
  });

  it('replaces the running one', async () => {
    const thread = await engine.begin();
    const earlier = await ended('Before');
    const running = await engine.create({ thread, ...say('One') });
    const next = await engine.create({
      thread,
      previousResponseId: earlier,
      onBusy: 'cancel_previous',
      ...say('Two'),
    });
    expect(await statusOf(running)).toBe('cancelled');
    expect(await received(next)).toEqual(['Before', 'Before!', 'Two']);
  });
});

describe('a response that names one without a conversation', () => {
  const refused = { code: 'invalid_state', detail: { param: 'previous_response_id' } };

  it('is refused once the named one is cancelled, also during the cancel', async () => {
    const thread = await engine.begin();
    const running = await engine.create({ thread });
    const [first, second] = [await enqueue(thread), await enqueue(thread)];
    await cancel(second);
    for (const onBusy of ['enqueue', 'cancel_previous'] as const) {
      for (const place of [{ thread }, {}]) {
        await expect(engine.create({ ...place, onBusy, previousResponseId: second })).rejects.toMatchObject(
          refused,
        );
      }
    }
    const joining = await whileHeld(first, async () => {
      const cancelled = cancel(first);
      await untilWaiting(1);
      return Promise.allSettled([enqueue(thread, { previousResponseId: first }), cancelled]);
    });
    expect(joining).toMatchObject([{ reason: refused }, { status: 'fulfilled' }]);
    expect(await statusOf(running)).toBe('queued');
  });

  it('is refused when it would cancel the named one, and cancels nothing', async () => {
    const thread = await engine.begin();
    const running = await engine.create({ thread });
    const waiting = await enqueue(thread);
    for (const place of [{ thread }, {}]) {
      await expect(
        engine.create({ ...place, onBusy: 'cancel_previous', previousResponseId: waiting }),
      ).rejects.toMatchObject(refused);
    }
    expect([await statusOf(running), await statusOf(waiting)]).toEqual(['queued', 'queued']);
  });
});

describe('a response that names a running one', () => {
  it('outside a thread blocks the first of a branch, and others are refused', async () => {
    const thread = await engine.begin();
    const elsewhere = await engine.create(say('Before'));
    const first = await enqueue(thread, { previousResponseId: elsewhere, ...say('One') });
    expect(await waits(first)).toBe(elsewhere);
    for (const onBusy of ['enqueue', 'cancel_previous'] as const) {
      await expect(engine.create({ thread, onBusy, previousResponseId: elsewhere })).rejects.toMatchObject(
        busy('previous_response_id'),
      );
    }
    expect(await statusOf(first)).toBe('queued');
    await answer(elsewhere, 'Before!');
    expect(await received(first)).toEqual(['Before', 'Before!', 'One']);
  });

  it('before the last of its branch is refused', async () => {
    const thread = await engine.begin();
    const running = await engine.create({ thread });
    await enqueue(thread);
    await expect(enqueue(thread, { previousResponseId: running })).rejects.toMatchObject(
      busy('previous_response_id'),
    );
  });

  it('does not end a response of another thread', async () => {
    const running = await engine.create({ thread: await engine.begin() });
    const asked = { previousResponseId: running, onBusy: 'cancel_previous' as const };
    await expect(engine.create({ thread: await engine.begin(), ...asked })).rejects.toMatchObject(
      busy('previous_response_id'),
    );
    await engine.create(asked);
    expect(await statusOf(running)).toBe('cancelled');
  });
});

describe('a response that waits without naming another', () => {
  it('reads its branch like a response requested when it begins', async () => {
    const thread = await engine.begin();
    const earlier = await ended('Before');
    const running = await engine.create({ thread, previousResponseId: earlier, ...say('One') });
    const second = await enqueue(thread, say('Two'));
    const third = await enqueue(thread, say('Three'));
    await enqueue(thread, say('Four'));
    await answer(running, 'First.');
    // Not the context of the response before it: that belongs to another user, or to another conversation.
    expect(await received(second)).toEqual(['Hello', 'One', 'First.', 'Two']);
    await answer(second, 'Second.');
    // Each question with its answer, and no unfinished ones.
    expect(await received(third)).toEqual(['Hello', 'One', 'First.', 'Two', 'Second.', 'Three']);
    await answer(third, 'Third.');
    const instead = await engine.create({ thread, onBusy: 'cancel_previous', ...say('Five') });
    expect(await received(instead)).toEqual([
      'Hello',
      'One',
      'First.',
      'Two',
      'Second.',
      'Three',
      'Third.',
      'Four',
      'Five',
    ]);
  });

  it('starts no chain, however many wait before it', async () => {
    const thread = await engine.begin();
    const running = await engine.create({ thread });
    const last = await enqueue(thread);
    const named = await enqueue(thread, { previousResponseId: last });
    const { rows } = await engine.admin.query(
      'select chain_depth from responses where id = any ($1) order by created_at, id',
      [[running, last, named]],
    );
    expect(rows.map((row) => row.chain_depth)).toEqual([0, 0, 1]);
  });

  it('is refused at once when its known part is too long', async () => {
    const thread = await engine.begin();
    const earlier = await ended('Many words. '.repeat(100));
    await engine.create({ thread });
    const refused = { code: 'context_length_exceeded', detail: { param: 'input' } };
    await within(200, async () => {
      for (const more of [say('Many words. '.repeat(100)), { previousResponseId: earlier }]) {
        await expect(enqueue(thread, more)).rejects.toMatchObject(refused);
      }
      await enqueue(thread, say('Two'));
    });
  });

  it('begins although the conversation of an earlier one became too long', async () => {
    const thread = await engine.begin();
    const running = await engine.create({ thread, ...say('One') });
    const tooLong = await enqueue(thread, { previousResponseId: running, ...say('Two') });
    const last = await enqueue(thread, say('Three'));
    await within(200, () => answer(running, 'Many words. '.repeat(100)));
    expect((await engine.record(tooLong)).platform.failure_reason?.code).toBe('context_length_exceeded');
    expect(await waits(last)).toBeNull();
    await within(200, async () => expect(await received(last)).toEqual(['Two', 'Three']));
  });

  it('reads nothing once its requester may not write there any more', async () => {
    const thread = await engine.begin();
    await engine.admin.query(
      `insert into roles (tenant_id, id, key, name, permissions)
       values ($1, gen_random_uuid(), 'asker', 'Asker', '{responses.create}')`,
      [engine.world.tenantId],
    );
    const requester = await addMember(engine.database.unitOfWork, engine.world, { spaceRole: 'asker' });
    const running = await engine.create({ thread, ...say('One') });
    const last = await enqueue(thread, say('Two'));
    await engine.admin.query('update responses set principal_id = $2 where id = $1', [
      last,
      requester.principalId,
    ]);
    await answer(running, 'First.');
    expect(await waits(last)).toBeNull();
    expect(await engine.claim(last)).toMatchObject({ kind: 'settled', result: { next: 'done' } });
    expect((await engine.record(last)).platform.failure_reason?.code).toBe('permission_revoked');
    const { rows } = await engine.admin.query(
      'select i.wire from response_context c join items i on i.id = c.item_id where c.response_id = $1',
      [last],
    );
    expect(rows).toEqual([{ wire: expect.stringContaining('"Two"') }]);
  });

  it.each(['deleted', 'purged'])('reads nothing of a thread that is %s before it begins', async (how) => {
    const thread = await engine.begin();
    const running = await engine.create({ thread, ...say('One') });
    const last = await enqueue(thread, say('Two'));
    await engine.act((ctx) => deleteThread(ctx, thread));
    await answer(running, 'First.');
    if (how === 'purged') {
      await sweepOnce(purgeThreads, { ...engine.database, purge: new UnitOfWork(purgeOrm) });
    }
    expect(await received(last)).toEqual(['Two']);
  });

  it('cannot be continued once it is cancelled, before its turn or at it', async () => {
    const thread = await engine.begin();
    const running = await engine.create({ thread, ...say('One') });
    const between = await enqueue(thread, say('Two'));
    const elsewhere = await engine.create({ previousResponseId: between, onBusy: 'enqueue' });
    const behind = await engine.create({ previousResponseId: elsewhere, onBusy: 'enqueue' });
    const other = await engine.begin();
    const there = await engine.create({ thread: other, previousResponseId: behind, onBusy: 'enqueue' });
    await cancel(between);
    // No branch holds the context that the first one would have received.
    expect(await Promise.all([elsewhere, behind, there].map(statusOf))).toEqual([
      'failed',
      'failed',
      'failed',
    ]);
    const last = await enqueue(thread, say('Three'));
    await answer(running, 'First.');
    expect(await waits(last)).toBeNull();
    await cancel(last);
    const named = engine.create({ previousResponseId: last });
    await expect(named).rejects.toMatchObject({ code: 'invalid_state' });
    const next = await engine.create({ thread, ...say('Four') });
    expect(await received(next)).toEqual(['Hello', 'One', 'First.', 'Two', 'Three', 'Four']);
  });
});

describe('responses that are requested at once', () => {
  it('wait for each other in the order of their acceptance', async () => {
    const thread = await engine.begin();
    const running = await engine.create({ thread, ...say('One') });
    const both = await whileHeld(running, () => Promise.all([enqueue(thread), enqueue(thread)]));
    const first = (await waits(both[0])) === running ? both[0] : both[1];
    const second = first === both[0] ? both[1] : both[0];
    expect([await waits(first), await waits(second)]).toEqual([running, first]);
    await answer(running, 'First.');
    expect([await waits(first), await waits(second)]).toEqual([null, first]);
    await answer(first, 'Second.');
    expect(await waits(second)).toBeNull();
  });

  it('are one running, and the waiting ones that it allows', async () => {
    const thread = await engine.begin();
    const made = await Promise.all(Array.from({ length: 6 }, () => enqueue(thread)));
    const { rows } = await engine.admin.query<{ response_id: string }>(
      'select response_id from messages where thread_id = $1 and response_id is not null order by position',
      [thread.threadId],
    );
    const accepted = rows.map((row) => row.response_id);
    expect(accepted.toSorted()).toEqual(made.toSorted());
    for (const [place, id] of accepted.entries()) {
      expect(await waits(id)).toBeNull();
      const behind = accepted[place + 1];
      if (behind !== undefined) {
        expect(await waits(behind)).toBe(id);
      }
      await answer(id, `${place}`);
    }
  });

  it('begin at once when the running one ends meanwhile', async () => {
    const thread = await engine.begin();
    const running = await engine.create({ thread, ...say('One') });
    await holder.query('begin');
    await holder.query('select from responses where id = $1 for update', [running]);
    const next = enqueue(thread, say('Two'));
    await untilBlocked(holder);
    await holder.query(`update responses set status = 'failed', finished_at = now() where id = $1`, [
      running,
    ]);
    await holder.query('commit');
    expect(await waits(await next)).toBeNull();
    expect(await received(await next)).toEqual(['Hello', 'One', 'Two']);
  });

  it.each(['before', 'after'] as const)(
    'are never two, when one arrives %s another that replaces all',
    async (order) => {
      const thread = await engine.begin();
      const running = await engine.create({ thread });
      const ask = {
        before: () => enqueue(thread),
        after: () => engine.create({ thread, onBusy: 'cancel_previous' }),
      };
      const [first, second] = await whileHeld(running, async () => {
        const asked = ask[order]();
        await untilWaiting(1);
        return Promise.all([asked, ask[order === 'before' ? 'after' : 'before']()]);
      });
      expect(await statusOf(running)).toBe('cancelled');
      expect([await statusOf(first), await waits(first)]).toEqual(
        order === 'before' ? ['cancelled', running] : ['queued', null],
      );
      expect([await statusOf(second), await waits(second)]).toEqual([
        'queued',
        order === 'before' ? null : first,
      ]);
    },
  );

  it('are one, when a failed one is restarted beside a new one', async () => {
    const thread = await engine.begin();
    const failed = await engine.create({ thread });
    await engine.admin.query(`update responses set status = 'failed', finished_at = now() where id = $1`, [
      failed,
    ]);
    const again = (newId: string) =>
      engine.act((ctx) => restartResponse(ctx, { responseId: failed }, { newId, limits }));
    const outcomes = await Promise.allSettled([
      ...Array.from({ length: 4 }, () => again(newResponseId())),
      ...Array.from({ length: 4 }, () => engine.create({ thread })),
    ]);
    const refused = outcomes.flatMap((one) => (one.status === 'rejected' ? [one.reason.code] : []));
    expect(refused).toEqual(Array.from({ length: 7 }, () => 'previous_response_in_progress'));
  });
});

describe('a response that waits', () => {
  it('ends with all of its queue when another replaces them', async () => {
    const thread = await engine.begin();
    const queue = [await engine.create({ thread }), await enqueue(thread), await enqueue(thread)];
    const instead = await engine.create({ thread, onBusy: 'cancel_previous' });
    expect(await Promise.all(queue.map(statusOf))).toEqual(['cancelled', 'cancelled', 'cancelled']);
    expect(await waits(instead)).toBeNull();
    // Waiting responses have no workflow that could be cancelled.
    const { rows } = await engine.admin.query('select workflow_id from outbox where workflow_id = any ($1)', [
      queue.slice(1).map((id) => `response/${engine.world.tenantId}/${id}`),
    ]);
    expect(rows).toEqual([]);
  });

  it('is cancelled with all others of its branch, or none is', async () => {
    const thread = await engine.begin();
    const queue = [await engine.create({ thread }), await enqueue(thread), await enqueue(thread)];
    const other = await addMember(engine.database.unitOfWork, engine.world);
    await engine.admin.query('update responses set principal_id = $2 where id = $1', [
      queue[1],
      other.principalId,
    ]);
    const instead = engine.act((ctx) => {
      const caller = { ...ctx.caller, granted: new Set(['responses.create', 'messages.create'] as const) };
      const asked = requestOf(engine.world, { thread, onBusy: 'cancel_previous' });
      const options = { responseId: newResponseId(), limits };
      return createResponse({ ...ctx, caller }, asked, options);
    });
    await expect(instead).rejects.toMatchObject({
      code: 'missing_permission',
      detail: { missingPermission: 'responses.cancel' },
    });
    expect(await Promise.all(queue.map(statusOf))).toEqual(['queued', 'queued', 'queued']);
  });

  it('keeps its position when both before it are cancelled', async () => {
    const thread = await engine.begin();
    const running = await engine.create({ thread, ...say('One') });
    const [second, third] = [await enqueue(thread, say('Two')), await enqueue(thread, say('Three'))];
    const last = await enqueue(thread, { previousResponseId: third, ...say('Four') });
    await cancel(third);
    expect(await waits(last)).toBe(second);
    await cancel(second);
    expect(await waits(last)).toBe(running);
    await answer(running, 'First.');
    expect(await received(last)).toEqual(['Hello', 'One', 'First.', 'Two', 'Three', 'Four']);
  });

  it('keeps its position when the one before it is cancelled, and its prompt includes that one’s question', async () => {
    const thread = await engine.begin();
    const running = await engine.create({ thread, ...say('One') });
    const between = await enqueue(thread, say('Two'));
    const last = await enqueue(thread, say('Three'));
    await cancel(between);
    expect(await waits(last)).toBe(running);
    await answer(running, 'First.');
    expect(await received(last)).toEqual(['Hello', 'One', 'First.', 'Two', 'Three']);
  });

  it.each(['cancelled', 'deleted'])(
    'includes the question of the response it named, once, when that is %s',
    async (how) => {
      const thread = await engine.begin();
      const running = await engine.create({ thread, ...say('One') });
      const between = await enqueue(thread, say('Two'));
      const last = await enqueue(thread, { previousResponseId: between, ...say('Three') });
      await (how === 'deleted'
        ? engine.act((ctx) => deleteResponse(ctx, { responseId: between }))
        : cancel(between));
      expect(await waits(last)).toBe(running);
      await answer(running, 'First.');
      expect(await received(last)).toEqual(['Hello', 'One', 'First.', 'Two', 'Three']);
    },
  );

  it('continues from a cancelled one with a conversation from elsewhere', async () => {
    const thread = await engine.begin();
    const earlier = await ended('Before');
    const running = await engine.create({ thread, ...say('One') });
    const between = await enqueue(thread, { previousResponseId: earlier, ...say('Two') });
    const last = await enqueue(thread, { previousResponseId: between, ...say('Three') });
    await engine.act((ctx) => deleteResponse(ctx, { responseId: between }));
    expect(await waits(last)).toBe(running);
    await answer(running, 'First.');
    expect(await received(last)).toEqual(['Before', 'Before!', 'Two', 'Three']);
  });

  it('begins when the one before it is cancelled while the response that both wait for ends', async () => {
    const thread = await engine.begin();
    const running = await engine.create({ thread, ...say('One') });
    const attempt = await engine.attempt(running);
    await attempt.say('First.');
    const between = await enqueue(thread, say('Two'));
    const last = await enqueue(thread, say('Three'));
    // The cancel blocks at the last response while holding the row in between; the end waits for it.
    await holder.query('begin');
    await holder.query('select from responses where id = $1 for update', [last]);
    const cancelled = cancel(between);
    await untilBlocked(holder);
    const end = attempt.commit();
    await untilWaiting(2);
    await holder.query('commit');
    await Promise.all([cancelled, end]);
    expect(await statusOf(running)).toBe('completed');
    expect(await waits(last)).toBeNull();
    expect(await received(last)).toEqual(['Hello', 'One', 'First.', 'Two', 'Three']);
  });

  it('ends and begins beside the purge of its thread', async () => {
    const thread = await engine.begin();
    const waiting = await engine.create({ thread, ...say('Two') });
    const running = await engine.create();
    // In table order one after the other, in queue order reversed.
    await engine.admin.query(
      `update responses set thread_id = $2, branch_id = $3, waits_for = case id when $1 then null else $1 end
         where id = any ($4)`,
      [running, thread.threadId, thread.branchId, [running, waiting]],
    );
    const attempt = await engine.attempt(running);
    await engine.act((ctx) => deleteThread(ctx, { threadId: thread.threadId }));
    await holder.query('begin');
    await holder.query('select from responses where id = $1 for update', [waiting]);
    const purged = sweepOnce(purgeThreads, { ...engine.database, purge: new UnitOfWork(purgeOrm) });
    await untilBlocked(holder);
    const committed = attempt.commit();
    committed.catch(() => {});
    await untilWaiting(2);
    await holder.query('commit');
    expect(await purged).toMatchObject({ done: 1, failed: 0 });
    await committed;
    expect(await statusOf(running)).toBe('completed');
    expect(await waits(waiting)).toBeNull();
  });

  it.each(['behind', 'in another branch, behind'] as const)(
    'is joined while the one before it ends: by one %s it',
    async (place) => {
      const thread = await engine.begin();
      const running = await engine.create({ thread, ...say('One') });
      const attempt = await engine.attempt(running);
      await attempt.say('First.');
      const branch = place === 'behind' ? thread : await fork(thread);
      const waiting = await enqueue(branch, { previousResponseId: running, ...say('Two') });
      await holder.query('begin');
      await holder.query('select from responses where id = $1 for update', [waiting]);
      const joining = enqueue(branch, say('Three'));
      await untilWaiting(1);
      const end = attempt.commit();
      await untilWaiting(2);
      await holder.query('commit');
      await end;
      expect(await waits(await joining)).toBe(waiting);
      expect(await waits(waiting)).toBeNull();
    },
  );
});

/** Waits until so many sessions of the database wait for a lock. */
async function untilWaiting(sessions: number): Promise<void> {
  for (let tries = 0; tries < 500; tries += 1) {
    const { rows } = await engine.admin.query<{ n: number }>(
      `select count(distinct pid)::int as n from pg_locks where not granted
         and pid in (select pid from pg_stat_activity where datname = current_database())`,
    );
    if (rows[0]!.n >= sessions) {
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`No ${sessions} sessions wait.`);
}
