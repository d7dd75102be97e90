import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId, newResponseId } from '#domain/foundation/kernel/ids.ts';
import { deleteResponse } from '#domain/responses/end/delete-response.ts';
import { restartResponse } from '#domain/responses/accept/restart-response.ts';
import { openEngine, type Engine } from '../../../support/engine.ts';

let engine: Engine;

beforeAll(async () => {
  engine = await openEngine();
});
afterAll(() => engine.stop());

const limits = { maxActivePerSpace: 10_000, retentionSeconds: 600 };

async function failed(input: Parameters<Engine['create']>[0] = {}): Promise<string> {
  const id = await engine.create(input);
  await (await engine.attempt(id)).say('Half an answer');
  const reason = { code: 'model_error', type: 'server_error', message: 'The model failed.', param: null };
  await engine.admin.query(
    `update responses set status = 'failed', finished_at = now(), failure = $2 where id = $1`,
    [id, reason],
  );
  return id;
}

const restart = (responseId: string, change: Parameters<Engine['act']>[1] = {}) =>
  engine.act((ctx) => restartResponse(ctx, { responseId }, { newId: newResponseId(), limits }), change);

const contextOf = async (id: string) => {
  const { rows } = await engine.admin.query(
    'select position, item_id from response_context where response_id = $1 order by position',
    [id],
  );
  return rows;
};

describe('a failed response', () => {
  it('is restarted as a new one: the same request on the same context, without the output', async () => {
    const metadata = { ticket: '7' };
    const id = await failed({ metadata, instructions: 'Be brief.', maxOutputTokens: 100 });
    engine.dispatches.length = 0;
    const record = await restart(id);
    expect(record.id).not.toBe(id);
    expect(record).toMatchObject({
      status: 'queued',
      output: [],
      platform: {
        attempts: 0,
        failure_reason: null,
        metadata,
        governance_applied: { limits: { max_output_tokens: 100 } },
      },
    });
    expect(await contextOf(record.id)).toEqual(await contextOf(id));
    const { rows } = await engine.admin.query(
      `select (a.request, a.governance, a.model_id, a.fingerprint) = (b.request, b.governance, b.model_id, b.fingerprint) as same
         from responses a, responses b where a.id = $1 and b.id = $2`,
      [id, record.id],
    );
    expect(rows).toEqual([{ same: true }]);
    expect(engine.dispatches).toMatchObject([
      { kind: 'start', workflowId: `response/${engine.world.tenantId}/${record.id}` },
    ]);
    expect((await engine.events(record.id)).map(({ type }) => type)).toEqual(['response.created']);
    const events = await engine.admin.query(
      `select resource_id, metadata ->> 'restarted_as' as restarted from events where event_type = 'space.response_restarted' and resource_id = $1`,
      [id],
    );
    expect(events.rows).toEqual([{ resource_id: id, restarted: record.id }]);
  });

  it('can be answered, and then outlives the failed one', async () => {
    const id = await failed();
    const record = await restart(id);
    await engine.act((ctx) => deleteResponse(ctx, { responseId: id }));
    const attempt = await engine.attempt(record.id);
    await attempt.say('The moon.');
    await attempt.commit();
    expect(await engine.record(record.id)).toMatchObject({
      status: 'completed',
      output: [{ content: [{ text: 'The moon.' }] }],
    });
  });

  it('is restarted by another principal only with permission to read it and to create one', async () => {
    const id = await failed();
    const stranger = { principalId: newId() };
    await expect(restart(id, { ...stranger, granted: new Set(['responses.create']) })).rejects.toMatchObject({
      detail: { missingPermission: 'responses.read' },
    });
    await expect(restart(id, { ...stranger, granted: new Set(['responses.read']) })).rejects.toMatchObject({
      detail: { missingPermission: 'responses.create' },
    });
  });

  it('is not restarted with a model that was disabled or is no longer allowed', async () => {
    const id = await failed();
    await engine.admin.query(`update models set disabled_at = now() where alias = 'paid'`);
    await expect(restart(id)).rejects.toMatchObject({ code: 'model_not_allowed' });
    await engine.admin.query(`update models set disabled_at = null where alias = 'paid'`);
  });
});

describe('any other response', () => {
  it.each(['queued', 'completed', 'cancelled'])('that is %s is not restarted', async (status) => {
    const id = await engine.create();
    if (status !== 'queued') {
      await engine.admin.query('update responses set status = $2, finished_at = now() where id = $1', [
        id,
        status,
      ]);
    }
    await expect(restart(id)).rejects.toMatchObject({ code: 'invalid_state' });
  });

  it('that failed before it received its parent’s context is not restarted', async () => {
    const id = await failed();
    await engine.admin.query(`update responses set waits_for = 'resp_parent' where id = $1`, [id]);
    await expect(restart(id)).rejects.toMatchObject({ code: 'invalid_state' });
  });

  it('that carried an approval of a call is not restarted: the call may have been made', async () => {
    const id = await failed();
    const call = { approval_request_id: 'mcpr_1', call_id: 'call_1', name: 'mcp__bank__pay' };
    await engine.admin.query(
      `update responses set request = jsonb_set(request, '{approved_calls}', $2) where id = $1`,
      [id, JSON.stringify([{ ...call, server_label: 'bank', tool: 'pay', arguments: '{}' }])],
    );
    engine.dispatches.length = 0;
    await expect(restart(id)).rejects.toMatchObject({ code: 'invalid_state' });
    expect(engine.dispatches).toEqual([]);
  });
});
