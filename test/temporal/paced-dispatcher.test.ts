import pino from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { start as startOf, type Dispatch } from '#domain/foundation/durable/messages.ts';
import { claimOutbox, enqueue, isHeldBack, removeFromOutbox } from '#domain/foundation/durable/outbox.ts';
import { AdaptiveRate } from '#domain/foundation/kernel/adaptive-rate.ts';
import { ContendedPace } from '#domain/foundation/kernel/contended-pace.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { startRelay } from '#temporal/dispatcher.ts';
import { pacedDispatcher } from '#temporal/paced-dispatcher.ts';
import { openEngine, type Engine } from '../support/engine.ts';
import { createWorld } from '../support/world.ts';

let engine: Engine;

beforeAll(async () => {
  engine = await openEngine();
});
afterAll(async () => {
  await engine.stop();
});

const start = (): Promise<Dispatch> =>
  engine.act(async ({ em }) => {
    const { tenantId, spaceId } = engine.world;
    const responseId = newId();
    const input = { tenantId, spaceId, responseId, model: 'paid', timeoutSeconds: 60 };
    return (await enqueue(em, startOf('generateResponse', input)))!;
  });

it('a start beyond the pace stays in the outbox for relays; a cancel and another tenant’s start go at once', async () => {
  const sent: string[] = [];
  const dispatcher = pacedDispatcher({
    dispatcher: {
      dispatch: async (row) => {
        sent.push(row.id);
        return true;
      },
    },
    pace: new ContendedPace({ burst: 1, perSecond: 0.5 }),
    database: engine.database.database,
    logger: pino({ level: 'silent' }),
  });
  await engine.admin.query('delete from outbox');
  const [first, second] = [await start(), await start()];
  await dispatcher.dispatch({ ...first, id: newId(), tenantId: newId() });
  sent.length = 0;
  await engine.admin.query(`update outbox set claimed_until = now() + interval '1 minute' where id = $1`, [
    first.id,
  ]);

  await dispatcher.dispatch(first);
  expect(await dispatcher.dispatch(second)).toBe(false);
  await dispatcher.dispatch({ ...second, id: 'its cancel', kind: 'cancel' });
  await dispatcher.dispatch({ ...first, id: 'of another tenant', tenantId: newId() });
  expect(sent).toEqual([first.id, 'its cancel', 'of another tenant']);

  // A relay may take it at once, without waiting for the lease of its commit to expire.
  const due = await claimOutbox(engine.database.database, { rows: 100, starts: 100 });
  expect(due.map(({ id }) => id)).toEqual([second.id]);
});

it('a relay with the default pace starts all that a dead gateway left, each tenant’s in turn', async () => {
  const neighbour = await createWorld(engine.database.unitOfWork);
  await engine.admin.query('delete from outbox');
  const leftBehind = (tenantId: string, count: number) =>
    engine.admin.query(
      `insert into outbox (tenant_id, id, kind, workflow_type, workflow_id, created_at, claimed_until)
       select $1::uuid, uuidv7(), 'start', 'generateResponse', $1::uuid || '/' || n, now() - interval '9 s', now() - interval '4 s'
       from generate_series(1, $2::int) n`,
      [tenantId, count],
    );
  await leftBehind(engine.world.tenantId, 25);
  await leftBehind(neighbour.tenantId, 2);
  const { database } = engine.database;
  const order: string[] = [];
  const held: boolean[] = [];
  const rate = new AdaptiveRate({ perSecond: 3, pressure: () => null });
  const relay = startRelay(
    { database, logger: pino({ level: 'silent' }) } as unknown as Parameters<typeof startRelay>[0],
    {
      dispatch: async (row) => {
        order.push(row.tenantId);
        await removeFromOutbox(database, row);
        return true;
      },
    },
    // Rounds a second apart, by a clock of their own.
    { pauseMs: 1, starts: { next: (heldBack) => rate.next(heldBack, held.push(heldBack) * 1_000) } },
  );
  await expect.poll(() => order.length, { timeout: 20_000 }).toBe(27);
  await expect.poll(() => held.at(-1)).toBe(false);
  await relay.stop();
  expect(order.indexOf(neighbour.tenantId)).toBeLessThan(6);
  expect(held.slice(0, 4)).toEqual([false, true, true, true]);
});

it('starts are held back where one tenant and type has as many as it may, apart from work that nobody waits for', () => {
  const row = (tenantId: string, workflowType: Dispatch['workflowType'], kind = 'start') =>
    ({ tenantId, workflowType, kind }) as Dispatch;
  const few = [row('a', 'generateResponse'), row('b', 'generateResponse'), row('a', 'ingestDocument')];
  const others = [
    row('a', 'traceResponse'),
    row('a', 'traceResponse'),
    row('a', 'generateResponse', 'cancel'),
  ];
  expect(isHeldBack([...few, ...others], 2)).toBe(false);
  expect(isHeldBack([...few, row('b', 'generateResponse')], 2)).toBe(true);
});
