import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lockHead } from '#domain/responses/store/head.ts';
import { ResponseChange, writeWithin } from '#domain/responses/store/response-change.ts';
import type { StreamEvent } from '#domain/responses/record/stream-events.ts';
import { openEngine, type Engine } from '../../../support/engine.ts';

let engine: Engine;
let listener: Client;
let woken: string[] = [];

beforeAll(async () => {
  engine = await openEngine();
  listener = engine.database.database.newClient();
  await listener.connect();
  listener.on('notification', ({ payload }) => woken.push(...(payload ?? '').trim().split(' ')));
  await listener.query('listen wake');
});
afterAll(async () => {
  await listener.end();
  await engine.stop();
});

/** Notifications arrive with the next answer at the latest. */
async function wakesOf(responseId: string): Promise<string[]> {
  await listener.query('select');
  await sleep(20);
  return woken.filter((pair) => pair.startsWith(responseId));
}

function searching(n: number): StreamEvent {
  return { type: 'response.file_search_call.searching', item_id: `fs_${n}`, output_index: n };
}

const publishIn = (responseId: string, work: () => Promise<void>) =>
  engine.database.unitOfWork.inTenant(engine.world.tenantId, async (em) => {
    const { response } = (await lockHead(em, responseId))!;
    const change = new ResponseChange(response);
    change.publish([searching(1), searching(2)]);
    expect(await writeWithin(em, change)).toBe('applied');
    await work();
  });

describe('publishing in a transaction', () => {
  it('shows readers nothing and notifies no listener before the commit, then everything', async () => {
    const id = await engine.create();
    await publishIn(id, async () => {
      expect(await engine.events(id)).toHaveLength(1);
      expect(await wakesOf(id)).toEqual([`${id}:0`]);
    });
    expect((await engine.events(id)).map((event) => event['sequence_number'])).toEqual([0, 1, 2]);
    expect(await wakesOf(id)).toEqual([`${id}:0`, `${id}:2`]);
  });

  it('leaves no trace of a transaction that is rolled back', async () => {
    const id = await engine.create();
    const failing = publishIn(id, async () => {
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect(await engine.events(id)).toHaveLength(1);
    expect(await wakesOf(id)).toEqual([`${id}:0`]);
  });
});

describe('publishing on the model lane', () => {
  it('notifies the listeners with the last number of each run', async () => {
    const id = await engine.create();
    const attempt = await engine.attempt(id);
    await attempt.say('one');
    await attempt.say(' two');
    const numbers = (await engine.events(id)).map((event) => `${id}:${String(event['sequence_number'])}`);
    expect((await wakesOf(id)).slice(-2)).toEqual(numbers.slice(-2));
    expect(numbers).toHaveLength(6);
  });

  it('notifies no listener for a fenced run', async () => {
    const id = await engine.create();
    const first = await engine.attempt(id);
    await engine.attempt(id);
    const before = await wakesOf(id);
    expect(await first.say('late')).toBe(false);
    expect(await wakesOf(id)).toEqual(before);
  });
});
