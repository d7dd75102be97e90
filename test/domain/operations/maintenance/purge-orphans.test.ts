import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { sweeps } from '#domain/operations/maintenance/sweeps.ts';
import { openEngine, type Engine } from '../../../support/engine.ts';
import { Purge } from '../../../support/purge.ts';
import { roundOf, sweepOnce } from '../../../support/sweeps.ts';

const { purgeOrphans } = sweeps;
let engine: Engine;
let purge: Purge;

beforeAll(async () => {
  engine = await openEngine();
  purge = new Purge(engine.database);
});
afterAll(async () => {
  await purge?.close();
  await engine?.stop();
});
beforeEach(() => engine.admin.query('truncate response_context, items'));

const deps = () => ({ ...engine.database, purge });

async function answered(): Promise<string> {
  const id = await engine.create();
  const attempt = await engine.attempt(id);
  await attempt.say('An answer.');
  await attempt.commit();
  return id;
}

/** Items of responses of which no other row is left, not even their ids. */
const leave = (count: number) =>
  engine.admin.query(
    `insert into items (tenant_id, id, response_id, type, wire)
     select $1, 'msg_left_' || n, 'resp_gone_' || n, 'message', '{}' from generate_series(1, $2) n`,
    [engine.world.tenantId, count],
  );

const itemsLeft = async () =>
  (await engine.admin.query<{ id: string }>('select id from items order by id')).rows.map(({ id }) => id);

describe('the sweep of orphans', () => {
  it('removes items whose response left neither a row nor its id', async () => {
    await leave(3);
    expect(await sweepOnce(purgeOrphans.sweep, deps())).toMatchObject({ done: 3, failed: 0, next: null });
    expect(await itemsLeft()).toEqual([]);
  });

  it('keeps items of an existing response, and items that another response uses', async () => {
    const parent = await answered();
    const child = await engine.create({ previousResponseId: parent });
    await leave(2);
    // The parent is deleted except for the items that the child uses.
    for (const table of ['response_context', 'turn_attempts', 'turns'])
      await engine.admin.query(`delete from ${table} where response_id = $1`, [parent]);
    await engine.admin.query('delete from responses where id = $1', [parent]);
    const { rows } = await engine.admin.query<{ item_id: string }>(
      'select item_id from response_context where response_id = $1 order by item_id',
      [child],
    );
    expect(await sweepOnce(purgeOrphans.sweep, deps())).toMatchObject({ done: 2, failed: 0 });
    expect(await itemsLeft()).toEqual(rows.map((row) => row.item_id));
    expect(rows).toHaveLength(3);
  });

  it('ends between two pages when its time is up, and the next round continues there', async () => {
    await leave(12_000);
    const first = await purgeOrphans.sweep.run(deps() as never, roundOf({ mayGoOn: () => false }));
    expect(first).toMatchObject({ done: 5_000, failed: 0 });
    // Rows before the position are left to the next full round.
    await engine.admin.query(
      `insert into items (tenant_id, id, response_id, type, wire) values ($1, 'aaa', 'gone', 'message', '{}')`,
      [engine.world.tenantId],
    );
    const rest = await purgeOrphans.sweep.run(deps() as never, roundOf({ place: first.next }));
    expect(rest).toEqual({ done: 7_000, failed: 0, next: null });
    expect(await itemsLeft()).toEqual(['aaa']);
  });
});
