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

it('a start beyond the pace stays in the outbox until it is due; a cancel and another tenant’s start go at once', async () => {
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

  await dispatcher.dispatch(first);
  expect(await dispatcher.dispatch(second)).toBe(false);
  await dispatcher.dispatch({ ...second, id: 'its cancel', kind: 'cancel' });
  await dispatcher.dispatch({ ...first, id: 'of another tenant', tenantId: newId() });
  expect(sent).toEqual([first.id, 'its cancel', 'of another tenant']);

  const due = async () => (await claimOutbox(engine.database.database, 100)).map(({ id }) => id);
  expect(await due()).not.toContain(second.id);
  await expect.poll(due, { timeout: 4_000, interval: 100 }).toContain(second.id);
});
