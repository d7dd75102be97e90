import { afterAll, beforeAll, expect, it } from 'vitest';
import { sealEvents } from '#domain/foundation/events/seal-events.ts';
import { openEngine, type Engine } from '../../../support/engine.ts';
import { Purge } from '../../../support/purge.ts';
import { addMember, secrets } from '../../../support/world.ts';

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

it('seals names without blocking on principals that are deleted or being deleted', async () => {
  const [gone, leaver, stayer] = [
    await addMember(engine.database.unitOfWork, engine.world, {}),
    await addMember(engine.database.unitOfWork, engine.world, {}),
    await addMember(engine.database.unitOfWork, engine.world, {}),
  ];
  const isSealed = async ({ principalId }: { principalId: string }): Promise<boolean> => {
    const { rows } = await engine.admin.query<{ sealed: boolean }>(
      'select sealed_name is not null as sealed from principals where id = $1',
      [principalId],
    );
    return rows[0]!.sealed;
  };
  await engine.admin.query(`update principals set status = 'disabled', deleted_at = now() where id = $1`, [
    gone.principalId,
  ]);
  await engine.admin.query('begin');
  await engine.admin.query('select from principals where id = $1 for update', [leaver.principalId]);
  expect(await sealEvents({ purge, secrets })).toMatchObject({ failed: 0 });
  expect([await isSealed(leaver), await isSealed(stayer)]).toEqual([false, true]);
  await engine.admin.query('rollback');
  // A principal that stays after all is sealed in the next round.
  expect(await sealEvents({ purge, secrets })).toMatchObject({ failed: 0 });
  expect([await isSealed(leaver), await isSealed(gone)]).toEqual([true, false]);
});
