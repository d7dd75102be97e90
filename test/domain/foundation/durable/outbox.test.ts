import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  claimOutbox,
  enqueueCancel,
  enqueueStart,
  leaveToRelays,
  outboxAgeSeconds,
  removeFromOutbox,
  type DurableStart,
} from '#domain/foundation/durable/outbox.ts';
import type { Dispatch } from '#domain/foundation/durable/dispatcher.ts';
import { cancelResponse } from '#domain/responses/end/cancel-response.ts';
import { openEngine, type Engine } from '../../../support/engine.ts';

let engine: Engine;

beforeAll(async () => {
  engine = await openEngine();
});
afterAll(() => engine.stop());
beforeEach(async () => {
  await engine.admin.query('delete from outbox');
});

const start = (workflowId: string): DurableStart => ({
  tenantId: engine.world.tenantId,
  workflowType: 'generateResponse',
  workflowId,
  payload: { responseId: workflowId },
});

const enqueue = (workflowId: string): Promise<Dispatch> =>
  engine.act((ctx) => enqueueStart(ctx.em, start(workflowId)));
const cancel = (workflowId: string): Promise<Dispatch | null> =>
  engine.act((ctx) => enqueueCancel(ctx.em, start(workflowId)));
const leaseOut = () => engine.admin.query(`update outbox set claimed_until = now() - interval '1 s'`);
const claim = async (limit = 10) =>
  (await claimOutbox(engine.database.database, limit)).map((row) => `${row.kind} ${row.workflowId}`);

describe('the outbox', () => {
  it('leaves a fresh row to the process that wrote it, and to a relay after that process has died', async () => {
    await enqueue('a');
    expect(await claim()).toEqual([]);
    await leaseOut();
    expect(await claim()).toEqual(['start a']);
  });

  it('offers a row to a relay at once when its writer leaves it to the relays', async () => {
    await engine.act(async (ctx) => {
      const left = await enqueueStart(ctx.em, start('a'));
      await enqueueStart(ctx.em, start('b'));
      await leaveToRelays(ctx.em, [left]);
    });
    expect(await claim()).toEqual(['start a']);
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
    const [one, two] = await Promise.all([claim(3), claim(3)]);
    expect([...one, ...two].toSorted()).toEqual(['a', 'b', 'c', 'd', 'e', 'f'].map((id) => `start ${id}`));
  });

  it('sends rows of one workflow in order, without delaying others', async () => {
    const first = await enqueue('a');
    await cancel('a');
    await enqueue('b');
    await leaseOut();
    expect((await claim()).toSorted()).toEqual(['start a', 'start b']);
    expect(await claim()).toEqual([]);
    await removeFromOutbox(engine.database.database, first);
    await leaseOut();
    expect((await claim()).toSorted()).toEqual(['cancel a', 'start b']);
  });

  it('drops an unsent start when it is cancelled, and enqueues nothing', async () => {
    await engine.act(async (ctx) => {
      await enqueueStart(ctx.em, { ...start('a'), dueNow: true });
      await leaveToRelays(ctx.em, [await enqueueStart(ctx.em, start('b'))]);
    });
    expect([await cancel('a'), await cancel('b')]).toEqual([null, null]);
    expect((await engine.admin.query('select from outbox')).rowCount).toBe(0);
  });

  it.each(['the process that wrote it', 'a relay'])(
    'enqueues the cancel of a start that %s may have sent before it died',
    async (sender) => {
      await engine.act((ctx) => enqueueStart(ctx.em, { ...start('a'), dueNow: sender === 'a relay' }));
      expect(await claim()).toEqual(sender === 'a relay' ? ['start a'] : []);
      await engine.admin.query('update outbox set claimed_until = now()');
      expect(await cancel('a')).toMatchObject({ kind: 'cancel', workflowId: 'a' });
      expect(await claim()).toEqual(['start a']);
    },
  );

  it('enqueues the cancel of a start that may be under way', async () => {
    await enqueue('a');
    expect(await cancel('a')).toMatchObject({ kind: 'cancel', workflowId: 'a' });
  });

  it('enqueues nothing for a change that was rolled back', async () => {
    const failing = engine.act(async (ctx) => {
      await enqueueStart(ctx.em, start('a'));
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect((await engine.admin.query('select from outbox')).rowCount).toBe(0);
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

  it('reports the age of its oldest row', async () => {
    expect(await outboxAgeSeconds(engine.database.database)).toBe(0);
    await enqueue('a');
    await engine.admin.query(`update outbox set created_at = now() - interval '90 s'`);
    expect(await outboxAgeSeconds(engine.database.database)).toBeGreaterThanOrEqual(90);
  });
});
