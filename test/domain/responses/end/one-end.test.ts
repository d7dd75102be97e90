import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cancelResponse } from '#domain/responses/end/cancel-response.ts';
import { closeResponse } from '#domain/responses/end/close-response.ts';
import { Response } from '#domain/responses/record/response.entity.ts';
import { openEngine, type Engine } from '../../../support/engine.ts';

let engine: Engine;
beforeAll(async () => {
  engine = await openEngine();
});
afterAll(() => engine?.stop());

const close = (responseId: string, reason: Parameters<typeof closeResponse>[2]) =>
  engine.database.unitOfWork.inTenant(engine.world.tenantId, (em) => closeResponse(em, responseId, reason));
/** One whose turn has said something, and is still open. */
const running = async () => {
  const id = await engine.create();
  const attempt = await engine.attempt(id);
  await attempt.say('Twice');
  return { id, attempt };
};
const rowOf = async (id: string) =>
  (
    await engine.admin.query<Record<string, unknown>>(
      `select status, cancelled_by, incomplete_reason, failure ->> 'code' as failure, record::jsonb as record,
         next_n, expires_at = (select expires_at from response_ids i where i.id = r.id) as same_expiry
       from responses r where id = $1`,
      [id],
    )
  ).rows[0]!;

describe('the end of a response', () => {
  it.each([
    ['its last turn', 'completed', { cancelled_by: false }],
    ['a cancel', 'cancelled', { cancelled_by: true }],
    ['the deadline', 'incomplete', { incomplete_reason: 'deadline_exceeded' }],
    ['a failure', 'failed', { failure: 'internal_error' }],
  ] as const)('by %s is one terminal event, one record and one event of the log', async (by, status, why) => {
    const { id, attempt } = await running();
    if (by === 'its last turn') {
      await attempt.commit();
    } else if (by === 'a cancel') {
      const shown = await engine.act((ctx) => cancelResponse(ctx, { responseId: id }));
      expect(shown.status).toBe('cancelled');
    } else if (by === 'the deadline') {
      await engine.admin.query('update responses set deadline_at = now() where id = $1', [id]);
      await close(id, { kind: 'deadline' });
    } else {
      await close(id, { kind: 'failed', code: 'internal_error' });
    }
    const row = await rowOf(id);
    expect(row).toMatchObject({ status, same_expiry: true, record: { id, status } });
    expect({
      cancelled_by: row['cancelled_by'] !== null,
      incomplete_reason: row['incomplete_reason'],
      failure: row['failure'],
    }).toEqual({ cancelled_by: false, incomplete_reason: null, failure: null, ...why });
    const events = await engine.events(id);
    const last = events.at(-1)!;
    expect(last).toMatchObject({ type: `response.${status}`, response: row['record'] as object });
    expect(events.map((event) => event['sequence_number'])).toEqual(events.map((_, n) => n));
    expect(row['next_n']).toBe(events.length);
    const logged = await engine.admin.query(
      `select event_type from events where resource_id = $1 and event_type like 'space.response\\_%'`,
      [id],
    );
    expect(logged.rows).toEqual([{ event_type: `space.response_${status}` }]);
    // a second one finds it ended
    await close(id, { kind: 'failed', code: 'internal_error' });
    expect(await rowOf(id)).toEqual(row);
  });

  it('comes also to one that ran past its expiry', async () => {
    const { id } = await running();
    await engine.admin.query(
      `with head as (update responses set expires_at = now() where id = $1),
       ids as (update response_ids set expires_at = now() where id = $1)
       update stream_runs set expires_at = now() where response_id = $1`,
      [id],
    );
    await close(id, { kind: 'failed', code: 'internal_error' });
    expect(await rowOf(id)).toMatchObject({ status: 'failed', failure: 'internal_error' });
  });

  it('is written with every column that a change can set', async () => {
    const { rows } = await engine.admin.query<{ source: string }>(
      `select prosrc as source from pg_proc where oid = 'app.write_response'::regproc`,
    );
    const columns = await engine.act(async ({ em }) =>
      Object.values(em.getMetadata().get(Response).properties).map(({ fieldNames }) => fieldNames[0]!),
    );
    // what is fixed when it is accepted, or belongs to steps that hold the head and write it by the ORM
    const others = [
      'tenant_id', 'id', 'space_id', 'principal_id', 'api_key_id', 'model_id', 'model', 'model_alias',
      'previous_response_id', 'thread_id', 'branch_id', 'request', 'fingerprint', 'governance', 'metadata',
      'created_at', 'queued_since', 'deleted_at',
    ]; // prettier-ignore
    const missing = columns.filter(
      (column) => !others.includes(column) && !rows[0]!.source.includes(`${column} = new.${column}`),
    );
    expect(columns).toContain('cancelled_by');
    expect(missing).toEqual([]);
  });
});
