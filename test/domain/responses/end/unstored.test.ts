import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { purgeResponses } from '#domain/operations/maintenance/purge-responses.ts';
import { createOrm } from '#domain/operations/schema/orm.ts';
import { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { cancelResponse } from '#domain/responses/end/cancel-response.ts';
import { readResponse } from '#domain/responses/read/read-response.ts';
import { ResponseRows } from '#domain/responses/store/response-rows.ts';
import { openEngine, type Engine } from '../../../support/engine.ts';
import { sweepOnce } from '../../../support/sweeps.ts';

let engine: Engine;
let purgeOrm: ReturnType<typeof createOrm>;

beforeAll(async () => {
  engine = await openEngine();
  purgeOrm = createOrm({ url: engine.database.purgeUrl, statementTimeoutMs: 5_000, poolSize: 1 });
});
afterAll(async () => {
  await purgeOrm?.close(true);
  await engine?.stop();
});

const minutes = (from: string, to: string) => (Date.parse(to) - Date.parse(from)) / 60_000;

async function answered(store: boolean): Promise<string> {
  const id = await engine.create({ store });
  const attempt = await engine.attempt(id);
  await attempt.say('Twice a day.');
  await attempt.commit();
  return id;
}

const read = (responseId: string) =>
  readResponse(new ResponseRows(engine.database.database), {
    identity: { ...engine.world.owner, apiKeyId: null, keyPermissions: null },
    requestId: null,
    spaceId: engine.world.spaceId,
    responseId,
  });

describe('a response that is not to be stored', () => {
  it('keeps its content for ten minutes after its end, whatever the end', async () => {
    const completed = await engine.record(await answered(false));
    const cancelledId = await engine.create({ store: false });
    const cancelled = await engine.act((ctx) => cancelResponse(ctx, { responseId: cancelledId }));
    for (const record of [completed, cancelled]) {
      expect(minutes(record.finished_at!, record.expires_at), record.status).toBe(10);
    }
    expect((await engine.events(completed.id)).at(-1)).toMatchObject({
      type: 'response.completed',
      response: { expires_at: completed.expires_at },
    });
  });

  it('expires then, and is purged, like a stored one a day later', async () => {
    const unstored = await answered(false);
    const stored = await answered(true);
    const record = await engine.record(stored);
    expect(minutes(record.created_at, record.expires_at)).toBe(24 * 60);
    // As if the ten minutes were over.
    for (const table of ['responses', 'response_ids']) {
      await engine.admin.query(
        `update ${table} set created_at = created_at - interval '11 min', expires_at = expires_at - interval '11 min'`,
      );
    }
    await expect(read(unstored)).rejects.toMatchObject({ code: 'response_expired' });
    expect((await read(stored)).record.status).toBe('completed');
    await sweepOnce(purgeResponses, { ...engine.database, purge: new UnitOfWork(purgeOrm) });
    const { rows } = await engine.admin.query('select id from responses where id = any($1)', [
      [unstored, stored],
    ]);
    expect(rows).toEqual([{ id: stored }]);
  });
});
