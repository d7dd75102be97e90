import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { WorkflowState } from '#domain/foundation/durable/workflow-inspector.ts';
import { purgeResponses } from '#domain/operations/maintenance/purge-responses.ts';
import { reconcileResponses } from '#domain/operations/maintenance/reconcile-responses.ts';
import { createOrm } from '#domain/operations/schema/orm.ts';
import { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { deleteResponse } from '#domain/responses/end/delete-response.ts';
import { listMessages } from '#domain/conversations/messages/list-messages.ts';
import { openEngine, type Engine } from '../../../support/engine.ts';
import { inspectorSaying, roundOf, sweepOnce } from '../../../support/sweeps.ts';
import { connect } from '../../../support/tables.ts';

let engine: Engine;
let purgeOrm: ReturnType<typeof createOrm>;

beforeAll(async () => {
  engine = await openEngine();
  purgeOrm = createOrm({ url: engine.database.purgeUrl, statementTimeoutMs: 5_000, poolSize: 1 });
});
afterAll(async () => {
  await purgeOrm.close(true);
  await engine.stop();
});

/** A round in which Temporal gives this answer for every workflow. */
async function reconcile(state: WorkflowState) {
  const inspector = inspectorSaying(state);
  const { starts, failed } = await sweepOnce(reconcileResponses, { ...engine.database, inspector });
  return { starts, failed };
}

const age = (id: string, interval = '1 min') =>
  engine.admin.query(
    'update responses set created_at = now() - $2::interval, queued_since = now() - $2::interval where id = $1',
    [id, interval],
  );

/** Marks every pending start as delivered to Temporal. */
const acknowledge = () => engine.admin.query('delete from outbox');

/** Whether a response has its start, and so waits for no other response. */
async function isPending(id: string): Promise<boolean> {
  const { rowCount } = await engine.admin.query(
    `select from outbox where kind = 'start' and workflow_id = $1`,
    [`response/${engine.world.tenantId}/${id}`],
  );
  return rowCount === 1;
}

async function rowsOf(id: string): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const table of ['stream_runs', 'turns', 'turn_attempts', 'tool_calls', 'response_context', 'items']) {
    const { rowCount } = await engine.admin.query(`select from ${table} where response_id = $1`, [id]);
    counts[table] = rowCount ?? 0;
  }
  return counts;
}

async function answered(text: string, previousResponseId: string | null = null): Promise<string> {
  const id = await engine.create({ previousResponseId });
  const attempt = await engine.attempt(id);
  await attempt.say(text);
  await attempt.commit();
  return id;
}

describe('the reconcile sweep', () => {
  it('queries each response separately where Temporal cannot list workflows', async () => {
    const id = await engine.create();
    await age(id);
    await acknowledge();
    const inspector = {
      ...inspectorSaying('closed'),
      openAmong: () => Promise.reject(new Error('The visibility store is away.')),
    };
    await sweepOnce(reconcileResponses, { ...engine.database, inspector });
    expect((await engine.record(id)).status).toBe('failed');
  });

  it('fails a response whose workflow was closed from outside', async () => {
    const id = await engine.create();
    await (await engine.attempt(id)).say('Half');
    await age(id);
    await acknowledge();
    expect(await reconcile('closed')).toEqual({ starts: [], failed: 0 });
    expect(await engine.record(id)).toMatchObject({
      status: 'failed',
      output: [{ status: 'incomplete', content: [{ text: 'Half' }] }],
      platform: { failure_reason: { code: 'internal_error' } },
    });
  });

  it('restarts a response that Temporal has lost, once', async () => {
    const id = await engine.create();
    await (await engine.attempt(id)).say('Half');
    await age(id);
    await acknowledge();
    const { starts } = await reconcile('unknown_id');
    expect(starts).toMatchObject([{ kind: 'start', workflowId: `response/${engine.world.tenantId}/${id}` }]);
    expect(await reconcile('unknown_id')).toEqual({ starts: [], failed: 0 });
    expect((await engine.attempt(id)).turn.composer.open?.text).toBe('Half');
    await acknowledge();
    await reconcile('closed');
  });

  it('leaves a start to the outbox while it is pending', async () => {
    const id = await engine.create();
    await age(id);
    expect(await reconcile('unknown_id')).toEqual({ starts: [], failed: 0 });
    expect(await reconcile('closed')).toEqual({ starts: [], failed: 0 });
    expect((await engine.record(id)).status).toBe('queued');
    await acknowledge();
    await reconcile('closed');
  });

  it('leaves running and fresh responses alone', async () => {
    const [running, fresh] = [await engine.create(), await engine.create()];
    await age(running);
    await acknowledge();
    await reconcile('open');
    expect((await engine.record(running)).status).toBe('queued');
    await reconcile('closed');
    expect((await engine.record(running)).status).toBe('failed');
    expect((await engine.record(fresh)).status).toBe('queued');
  });

  it('fails responses that no worker began within an hour', async () => {
    const id = await engine.create();
    await age(id, '61 min');
    await reconcile('open');
    expect((await engine.record(id)).platform.failure_reason?.code).toBe('engine_unavailable');
  });
});

async function purge() {
  const { done, failed } = await sweepOnce(purgeResponses, {
    ...engine.database,
    purge: new UnitOfWork(purgeOrm),
  });
  return { purged: done, failed };
}

/** The events of a response expire with it, as everywhere. */
const expire = (id: string) =>
  engine.admin.query(
    `with head as (update responses set expires_at = date_trunc('milliseconds', now()) - interval '1 s'
       where id = $1 returning id, expires_at),
     ids as (update response_ids d set expires_at = h.expires_at from head h where d.id = h.id)
     update stream_runs s set expires_at = h.expires_at from head h where s.response_id = h.id`,
    [id],
  );

describe('a response that outlives its retention', () => {
  it('releases the responses that wait for it', async () => {
    const first = await engine.create();
    const attempt = await engine.attempt(first);
    const middle = await engine.create({ previousResponseId: first, onBusy: 'enqueue' });
    const last = await engine.create({ previousResponseId: middle, onBusy: 'enqueue' });
    await expire(middle);
    await age(middle);
    expect(await purge()).toEqual({ purged: 0, failed: 0 });
    await attempt.say('An answer.');
    await attempt.commit();
    await reconcile('open');
    expect(await isPending(last)).toBe(true);
    expect((await engine.attempt(last)).turn.messages.at(-3)).toMatchObject({ text: 'An answer.' });
    expect(await purge()).toEqual({ purged: 1, failed: 0 });
  });

  it('leaves the queue while the one before it runs', async () => {
    const first = await engine.create();
    const middle = await engine.create({ previousResponseId: first, onBusy: 'enqueue' });
    const last = await engine.create({ previousResponseId: middle, onBusy: 'enqueue' });
    await expire(middle);
    await age(middle);
    await reconcile('open');
    expect(await isPending(last)).toBe(false);
    await (await engine.attempt(first)).commit();
    expect(await isPending(last)).toBe(true);
    expect(await purge()).toEqual({ purged: 1, failed: 0 });
  });

  it('is ended and then purged, when it runs', async () => {
    const thread = await engine.begin();
    const id = await engine.create({ thread });
    await (await engine.attempt(id)).say('Half of an answer');
    await expire(id);
    await age(id);
    expect(await purge()).toEqual({ purged: 0, failed: 0 });
    await reconcile('open');
    const ended = await engine.admin.query('select status from responses where id = $1', [id]);
    expect(ended.rows).toEqual([{ status: 'failed' }]);
    const used = await engine.admin.query(
      'select settled, aborted, output_tokens > 0 as counted from usage_ledger where response_id = $1',
      [id],
    );
    expect(used.rows).toEqual([{ settled: true, aborted: true, counted: true }]);
    const { items } = await engine.act((ctx) => listMessages(ctx, { ...thread, limit: 100, cursor: null }));
    const failed = { status: 'failed', content: 'Half of an answer' };
    expect(items.map(({ message }) => message)).toContainEqual(expect.objectContaining(failed));
    expect(await purge()).toEqual({ purged: 1, failed: 0 });
    expect(Object.values(await rowsOf(id))).toEqual([0, 0, 0, 0, 0, 0]);
  });
});

describe('a response that waits for a missing one', () => {
  const lose = async (id: string) => {
    await engine.admin.query(`update responses set waits_for = 'resp_gone' where id = $1`, [id]);
    await age(id);
  };

  it('begins with the messages of its branch', async () => {
    const thread = await engine.begin();
    await engine.create({ thread });
    const waiting = await engine.create({ thread, onBusy: 'enqueue' });
    await reconcile('open');
    expect(await isPending(waiting)).toBe(false);
    await lose(waiting);
    await reconcile('unknown_id');
    expect(await isPending(waiting)).toBe(true);
    expect((await engine.attempt(waiting)).turn.messages.map((one) => 'text' in one && one.text)).toEqual([
      expect.any(String),
      'Hello',
      'Why are there tides?',
    ]);
  });

  it('fails with its successors, when it was to continue from the missing one', async () => {
    const first = await engine.create();
    const waiting = await engine.create({ previousResponseId: first, onBusy: 'enqueue' });
    const last = await engine.create({ previousResponseId: waiting, onBusy: 'enqueue' });
    await lose(waiting);
    await reconcile('open');
    expect(await isPending(last)).toBe(false);
    await age(last);
    await reconcile('open');
    for (const responseId of [waiting, last]) {
      expect((await engine.record(responseId)).platform.failure_reason?.code).toBe('internal_error');
      await expect(engine.create({ previousResponseId: responseId })).rejects.toMatchObject({
        code: 'invalid_state',
      });
    }
  });
});

describe('the purge', () => {
  it('removes the content of an expired response, and keeps its usage and its event', async () => {
    const id = await answered('An answer.');
    await expire(id);
    expect(await purge()).toEqual({ purged: 1, failed: 0 });
    expect(Object.values(await rowsOf(id))).toEqual([0, 0, 0, 0, 0, 0]);
    const kept = await engine.admin.query(
      `select from usage_ledger where response_id = $1
       union all select from events where resource_id = $1
       union all select from response_ids where id = $1`,
      [id],
    );
    expect(kept.rowCount).toBe(3);
    expect(await purge()).toEqual({ purged: 0, failed: 0 });
  });

  it('leaves a stream kept for a day to the drop of its partition, where no tenant can read it', async () => {
    // A run that began before midnight has it already.
    await engine.admin.query(
      `select app.add_stream_day(d) from (select (now() at time zone 'utc')::date - 1 as d) yesterday
       where d not in (select app.stream_days())`,
    );
    const id = await answered('An answer.');
    await engine.admin.query(`update responses set created_at = now() - interval '25 hours' where id = $1`, [
      id,
    ]);
    await expire(id);
    expect(await purge()).toEqual({ purged: 1, failed: 0 });
    const { stream_runs: runs, ...rest } = await rowsOf(id);
    expect(runs).toBeGreaterThan(0);
    expect(Object.values(rest)).toEqual([0, 0, 0, 0, 0]);
    const seen = await engine.database.unitOfWork.inTenant(engine.world.tenantId, (em) =>
      em.execute('select n from stream_runs where response_id = ?', [id]),
    );
    expect(seen).toEqual([]);
  });

  it('keeps items as long as a living child uses them', async () => {
    const parent = await answered('The parent.');
    const child = await answered('The child.', parent);
    await expire(parent);
    await purge();
    const { turn } = await engine.attempt(await engine.create({ previousResponseId: child }));
    expect(turn.messages.flatMap((message) => ('text' in message ? [message.text] : []))).toEqual(
      expect.arrayContaining(['The parent.', 'The child.']),
    );
    expect((await rowsOf(parent))['items']).toBe(2);
    expect((await rowsOf(parent))['stream_runs']).toBe(0);
  });

  it('removes a deleted response once its readers have had time to see its end', async () => {
    const id = await answered('An answer.');
    await engine.act((ctx) => deleteResponse(ctx, { responseId: id }));
    await purge();
    expect((await rowsOf(id))['items']).toBe(2);
    await engine.admin.query(`update responses set deleted_at = now() - interval '16 s' where id = $1`, [id]);
    await purge();
    expect((await rowsOf(id))['items']).toBe(0);
  });
});

describe('two purges at once', () => {
  const heldUp = async () => {
    const { rows } = await engine.admin.query<{ n: number }>(
      `select count(*)::int as n from pg_stat_activity
       where datname = current_database() and usename like 'app_purge%' and wait_event_type = 'Lock'`,
    );
    return rows[0]?.n ?? 0;
  };

  it('of responses that share items leave none of them', async () => {
    const first = await answered('One');
    const second = await answered('Two', first);
    const { rows: items } = await engine.admin.query<{ id: string }>(
      'select id from items where response_id = $1 order by id',
      [first],
    );
    // One item belongs to the first only, so that its purge can be blocked there, after its check of the
    // others.
    const alone = items[0]?.id;
    await engine.admin.query('delete from response_context where response_id = $1 and item_id = $2', [
      second,
      alone,
    ]);
    for (const id of [first, second]) await expire(id);
    const due = await engine.admin.query<{ due: string }>(
      'select expires_at::text as due from responses where id = $1',
      [first],
    );
    const holder = await connect(engine.database.adminUrl);
    const other = createOrm({ url: engine.database.purgeUrl, statementTimeoutMs: 5_000, poolSize: 1 });
    try {
      await holder.query('begin');
      await holder.query('select from items where id = $1 for update', [alone]);
      const run = (orm: typeof other, place: string[] | null) =>
        purgeResponses.run({ ...engine.database, purge: new UnitOfWork(orm) } as never, roundOf({ place }));
      const purges = [run(purgeOrm, null)];
      await expect.poll(heldUp, { timeout: 4_000 }).toBe(1);
      // The other purge starts after the first response.
      let isDone = false;
      purges.push(run(other, [due.rows[0]?.due ?? '', first]).finally(() => (isDone = true)));
      await expect.poll(async () => isDone || (await heldUp()) === 2, { timeout: 4_000 }).toBe(true);
      await holder.query('commit');
      await Promise.all(purges);
    } finally {
      await holder.end();
      await other.close(true);
    }
    expect(await rowsOf(first)).toMatchObject({ items: 0, response_context: 0 });
    expect(await rowsOf(second)).toMatchObject({ items: 0, response_context: 0 });
  });
});
