import pino from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { start as startOf, type Dispatch } from '#domain/foundation/durable/messages.ts';
import { claimOutbox, enqueue } from '#domain/foundation/durable/outbox.ts';
import { ContendedPace } from '#domain/foundation/kernel/contended-pace.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { pacedDispatcher } from '#temporal/paced-dispatcher.ts';
import { openEngine, type Engine } from '../support/engine.ts';

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
