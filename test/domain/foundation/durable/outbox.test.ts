import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  signal,
  signalWithStart,
  type CancelMessage,
  type Dispatch,
  type Message,
  type StartMessage,
} from '#domain/foundation/durable/messages.ts';
import {
  claimOutbox,
  enqueue as enqueueIn,
  enqueueOnce,
  leaveToRelays,
  outboxAgeSeconds,
  removeFromOutbox,
} from '#domain/foundation/durable/outbox.ts';
import { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { cancelResponse } from '#domain/responses/end/cancel-response.ts';
import { openEngine, type Engine } from '../../../support/engine.ts';
import { createWorld, type World } from '../../../support/world.ts';

let engine: Engine;
let neighbour: World;

beforeAll(async () => {
  engine = await openEngine();
  neighbour = await createWorld(engine.database.unitOfWork);
});
afterAll(() => engine.stop());
beforeEach(async () => {
  await engine.admin.query('delete from outbox');
  engine.dispatches.length = 0;
});

const start = (workflowId: string): StartMessage => ({
  kind: 'start',
  tenantId: engine.world.tenantId,
  workflowType: 'generateResponse',
  workflowId,
  payload: { responseId: workflowId },
});
const cancelOf = (workflowId: string): CancelMessage => ({ ...start(workflowId), kind: 'cancel' });

const enqueue = (workflowId: string): Promise<Dispatch | null> =>
  engine.act((ctx) => enqueueIn(ctx.em, start(workflowId)));
const cancel = (workflowId: string): Promise<Dispatch | null> =>
  engine.act((ctx) => enqueueIn(ctx.em, cancelOf(workflowId)));
/** As a process that sends nothing itself. */
const leave = (message: Message): Promise<Dispatch | null> =>
  new UnitOfWork(engine.database.orm).inTenant(engine.world.tenantId, (em) => enqueueIn(em, message));
const sent = () => engine.dispatches.map(({ kind, workflowId }) => `${kind} ${workflowId}`);
const leaseOut = () => engine.admin.query(`update outbox set claimed_until = now() - interval '1 s'`);
const claim = async (rows = 10, starts = rows) =>
  (await claimOutbox(engine.database.database, { rows, starts })).map(
    (row) => `${row.kind} ${row.workflowId}`,
  );
/** Rows of another tenant, which no use case of this world can write. */
const insertForeign = (workflowId: string, type = 'generateResponse') =>
  engine.admin.query(
    `insert into outbox (tenant_id, id, kind, workflow_type, workflow_id, payload, claimed_until)
     values ($1, uuidv7(), 'start', $2, $3, '{}', now() - interval '1 s')`,
    [neighbour.tenantId, type, workflowId],
  );

describe('the outbox', () => {
  it('leaves a fresh row to the process that wrote it, and to a relay after that process has died', async () => {
    await enqueue('a');
    expect(await claim()).toEqual([]);
    await leaseOut();
    expect(await claim()).toEqual(['start a']);
  });

  it('gives a row to a relay at once where the process that wrote it sends none', async () => {
    await leave(start('a'));
    await enqueue('b');
    expect(await claim()).toEqual(['start a']);
    expect(sent()).toEqual(['start b']);
  });

  it('hands out some starts of each tenant and type in turn, oldest first, however many wait', async () => {
    for (const id of ['a', 'b', 'c', 'd']) await leave(start(id));
    await leave({ ...start('document'), workflowType: 'ingestDocument' });
    await insertForeign('of another tenant');
    expect(await claim(10, 0)).toEqual([]);
    const others = ['start document', 'start of another tenant'];
    expect((await claim(10, 2)).toSorted()).toEqual(['start a', 'start b', ...others]);
    expect((await claim(10, 1)).toSorted()).toEqual(['start c']);
    expect((await claim(10, 1)).toSorted()).toEqual(['start d']);
  });

  it('reads little of a long queue in a round', async () => {
    await engine.admin.query(
      `insert into outbox (tenant_id, id, kind, workflow_type, workflow_id, payload, claimed_until)
       select '${engine.world.tenantId}', uuidv7(), 'start', 'generateResponse', 'queued/' || n, '{}', now()
       from generate_series(1, 20000) n`,
    );
    await insertForeign('of another tenant');
    await leave(cancelOf('another'));
    // Several statements of one query are one transaction, whose reads the server counts.
    const results = (await engine.admin.query(
      `select workflow_id from app.claim_outbox_in_turn(50, '{generateResponse}', 3);
       select sum(pg_stat_get_xact_tuples_returned(r) + pg_stat_get_xact_tuples_fetched(r))::int as read
       from (select 'outbox'::regclass::oid as r
             union all select indexrelid from pg_index where indrelid = 'outbox'::regclass) t`,
    )) as unknown as [{ rows: { workflow_id: string }[] }, { rows: { read: number }[] }];
    expect(results[0].rows.map((row) => row.workflow_id).toSorted()).toEqual([
      'another',
      'of another tenant',
      'queued/1',
      'queued/2',
      'queued/3',
    ]);
    expect(results[1].rows[0]!.read).toBeLessThan(500);
  });

  it('begins a batch with the first start of each tenant, though another has older ones', async () => {
    for (const id of ['a', 'b', 'c']) await leave(start(id));
    await insertForeign('of another tenant');
    expect((await claim(2, 3)).toSorted()).toEqual(['start a', 'start of another tenant']);
  });

  it('lets cancels, signals and work that nobody waits for pass the starts of their tenant', async () => {
    await leave(start('a'));
    await leave(start('b'));
    await leave(cancelOf('c'));
    await leave({ ...start('trace'), workflowType: 'traceResponse' });
    expect((await claim(10, 0)).toSorted()).toEqual(['cancel c', 'start trace']);
    expect(await claim(10, 1)).toEqual(['start a']);
  });

  it('hands what is committed to the dispatcher, each workflow’s in order, and nothing of what is rolled back', async () => {
    const failing = engine.act(async (ctx) => {
      await ctx.enqueue(start('a'));
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect(sent()).toEqual([]);
    expect((await engine.admin.query('select from outbox')).rowCount).toBe(0);
    await engine.act(async (ctx) => {
      await ctx.enqueue(start('b'));
      await ctx.enqueue(start('c'));
      await ctx.enqueue(cancelOf('b'));
      expect(sent()).toEqual([]);
    });
    await expect.poll(sent).toEqual(['start b', 'start c', 'cancel b']);
  });

  it('leaves a message behind one that is not sent yet to the relays, which keep their order', async () => {
    const first = await enqueue('a');
    await cancel('a');
    await engine.act(async (ctx) => {
      await ctx.enqueue({ ...cancelOf('a'), kind: 'signal', payload: { signal: 'wake', args: [] } });
    });
    expect(sent()).toEqual(['start a']);
    expect(await claim()).toEqual([]);
    await removeFromOutbox(engine.database.database, first!);
    expect(await claim()).toEqual(['cancel a']);
    expect(await claim()).toEqual([]);
  });

  it('puts a message behind a pending one whose id comes from a clock that is ahead', async () => {
    await enqueue('a');
    await engine.admin.query(`update outbox set id = uuidv7(interval '1 minute')`);
    await cancel('a');
    await cancel('a');
    const { rows } = await engine.admin.query<{ kind: string }>('select kind from outbox order by id');
    expect(rows.map(({ kind }) => kind)).toEqual(['start', 'cancel', 'cancel']);
    await leaseOut();
    expect(await claim()).toEqual(['start a']);
  });

  it('holds a signal with its name and arguments, and for a workflow of no tenant its sender’s', async () => {
    const { tenantId } = engine.world;
    const wake = { budgetSeconds: 5 };
    await engine.act(async (ctx) => {
      await ctx.enqueue(signal('runSweep', { sweep: 'a' }, 'wake', [wake]));
      await ctx.enqueue(signalWithStart('runSweep', { sweep: 'b' }, 'wake', [wake]));
    });
    const { rows } = await engine.admin.query<object>(
      'select tenant_id, kind, workflow_type, workflow_id, payload from outbox order by id',
    );
    const common = { tenant_id: tenantId, kind: 'signal', workflow_type: 'runSweep' };
    expect(rows).toEqual([
      { ...common, workflow_id: 'upkeep/a', payload: { signal: 'wake', args: [wake] } },
      {
        ...common,
        workflow_id: 'upkeep/b',
        payload: { signal: 'wake', args: [wake], start: { sweep: 'b' } },
      },
    ]);
  });

  it('leases a claimed row for ten seconds: no other relay claims it meanwhile', async () => {
    await enqueue('a');
    await leaseOut();
    await claim();
    expect(await claim()).toEqual([]);
    const { rows } = await engine.admin.query<{ seconds: number }>(
      'select extract(epoch from claimed_until - now())::float8 as seconds from outbox',
    );
    expect(rows[0]!.seconds).toBeGreaterThan(8);
    expect(rows[0]!.seconds).toBeLessThanOrEqual(10);
  });

  it('gives each row to one of two concurrent relays', async () => {
    for (const id of ['a', 'b', 'c', 'd', 'e', 'f']) {
      await enqueue(id);
    }
    await leaseOut();
    // Each sees places for all six: with three places, the second would find only what the first has locked.
    const [one, two] = await Promise.all([claim(3, 6), claim(3, 6)]);
    expect([...one, ...two].toSorted()).toEqual(['a', 'b', 'c', 'd', 'e', 'f'].map((id) => `start ${id}`));
  });

  it('sends rows of one workflow in order, without delaying others', async () => {
    const first = await enqueue('a');
    await cancel('a');
    await enqueue('b');
    await leaseOut();
    expect((await claim()).toSorted()).toEqual(['start a', 'start b']);
    expect(await claim()).toEqual([]);
    await removeFromOutbox(engine.database.database, first!);
    await leaseOut();
    expect((await claim()).toSorted()).toEqual(['cancel a', 'start b']);
  });

  it('drops a start that was not sent yet when it is cancelled, and enqueues nothing', async () => {
    await leave(start('a'));
    expect(await cancel('a')).toBeNull();
    expect((await engine.admin.query('select from outbox')).rowCount).toBe(0);
  });

  it('drops a start that was left to the relays when it is cancelled, before or after', async () => {
    const pass = async (row: Dispatch | null) => leaveToRelays(engine.database.database, row!);
    await pass(await enqueue('a'));
    expect(await cancel('a')).toBeNull();
    expect((await engine.admin.query('select from outbox')).rowCount).toBe(0);
    const cancelled = await enqueue('b');
    await cancel('b');
    await pass(cancelled);
    expect(await claim()).toEqual(['cancel b']);
  });

  it('keeps the lease of a relay that claims a start before it is left to the relays', async () => {
    const row = await enqueue('a');
    await engine.admin.query(`update outbox set created_at = created_at - interval '6 s'`);
    await leaseOut();
    expect(await claim()).toEqual(['start a']);
    await leaveToRelays(engine.database.database, row!);
    expect(await claim()).toEqual([]);
    expect(await cancel('a')).toMatchObject({ kind: 'cancel' });
  });

  it('leaves one of equal messages to the relays until one claims it, for each workflow', async () => {
    const wake = (workflowId: string) =>
      engine.act((ctx) =>
        enqueueOnce(ctx.em, { ...start(workflowId), kind: 'signal', payload: { signal: 'wake', args: [] } }),
      );
    await wake('a');
    await wake('a');
    await wake('b');
    expect(sent()).toEqual([]);
    expect((await claim()).toSorted()).toEqual(['signal a', 'signal b']);
    await wake('a');
    expect((await engine.admin.query('select from outbox')).rowCount).toBe(3);
  });

  it('cancels behind what was to follow a start that it drops', async () => {
    await leave(start('a'));
    await leave({ ...start('a'), kind: 'signal', payload: { signal: 'wake', args: [] } });
    expect(await cancel('a')).toMatchObject({ kind: 'cancel' });
    const { rows } = await engine.admin.query<{ kind: string }>('select kind from outbox order by id');
    expect(rows.map(({ kind }) => kind)).toEqual(['signal', 'cancel']);
  });

  it.each(['the process that wrote it', 'a relay'])(
    'enqueues the cancel of a start that %s may have sent before it died',
    async (sender) => {
      await (sender === 'a relay' ? leave(start('a')) : enqueue('a'));
      expect(await claim()).toEqual(sender === 'a relay' ? ['start a'] : []);
      await engine.admin.query('update outbox set claimed_until = now()');
      expect(await cancel('a')).toMatchObject({ kind: 'cancel', workflowId: 'a' });
      expect(await claim()).toEqual(['start a']);
    },
  );

  it('enqueues the cancel of a start that may be on its way', async () => {
    await enqueue('a');
    expect(await cancel('a')).toMatchObject({ kind: 'cancel', workflowId: 'a' });
  });

  it('holds the start of a response from its creation, and its cancel', async () => {
    const id = await engine.create();
    await engine.attempt(id);
    await engine.act((ctx) => cancelResponse(ctx, { responseId: id }));
    await leaseOut();
    const workflowId = `response/${engine.world.tenantId}/${id}`;
    expect(await claim()).toEqual([`start ${workflowId}`]);
    const { rows } = await engine.admin.query<{ payload: unknown }>(
      `select payload from outbox where kind = 'start'`,
    );
    expect(rows).toEqual([
      {
        payload: {
          tenantId: engine.world.tenantId,
          spaceId: engine.world.spaceId,
          responseId: id,
          model: 'paid',
          timeoutSeconds: 900,
        },
      },
    ]);
  });

  it('leaves starts that wait in the turn of their tenant out of its age, until a relay has claimed one', async () => {
    await leave(start('a'));
    await engine.admin.query(
      `update outbox set created_at = now() - interval '90 s', claimed_until = now() - interval '90 s'`,
    );
    expect(await outboxAgeSeconds(engine.database.database)).toBe(0);
    await claim();
    expect(await outboxAgeSeconds(engine.database.database)).toBeGreaterThanOrEqual(90);
  });

  it('reports the age of its oldest row', async () => {
    expect(await outboxAgeSeconds(engine.database.database)).toBe(0);
    await enqueue('a');
    await engine.admin.query(`update outbox set created_at = now() - interval '90 s'`);
    expect(await outboxAgeSeconds(engine.database.database)).toBeGreaterThanOrEqual(90);
  });
});
