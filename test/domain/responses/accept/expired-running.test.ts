import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { screenInput } from '#domain/responses/accept/screen-input.ts';
import { newResponseId } from '#domain/foundation/kernel/ids.ts';
import { answerApprovals } from '#domain/responses/accept/tool-input.ts';
import { Space } from '#domain/workspace/spaces/space.entity.ts';
import { openEngine, requestOf, type Engine } from '../../../support/engine.ts';

let engine: Engine;
let responseId: string;
beforeAll(async () => {
  engine = await openEngine();
});
afterAll(() => engine.stop());
beforeEach(async () => {
  responseId = await engine.create();
  await (await engine.attempt(responseId)).say('In time.');
});

const expire = () =>
  engine.admin.query(
    `with head as (update responses set expires_at = now() where id = $1),
     ids as (update response_ids set expires_at = now() where id = $1)
     update stream_runs set expires_at = now() where response_id = $1`,
    [responseId],
  );

// It stays visible to the runtime role until it is ended.
describe('a response that runs on past its expiry', () => {
  it('is returned by no function that reads or writes responses', async () => {
    const { tenantId, spaceId, owner } = engine.world;
    const of = [tenantId, responseId];
    const { rows } = await engine.admin.query<{ writer_epoch: number; next_n: number }>(
      'select writer_epoch, next_n from responses where id = $1',
      [responseId],
    );
    const lane = [rows[0]!.writer_epoch, rows[0]!.next_n];
    type Call = [text: string, values: unknown[]];
    const reads: Record<string, Call> = {
      read_call: ['select head as found from app.read_call($1, $2, 0, 0)', of],
      read_lane: ['select epoch as found from app.read_lane($1, $2)', of],
      read_request: ['select app.read_request($1, $2) as found', of],
      read_responses: [
        'select coalesce(record, head::text) as found from app.read_responses($1, $2, $3, $4, $5)',
        [[tenantId], [owner.principalId], [spaceId], [responseId], [false]],
      ],
      read_streams: [
        'select events as found from app.read_streams($1, $2, $3, 10)',
        [[tenantId], [responseId], [-1]],
      ],
      read_turn: ['select head as found from app.read_turn($1, $2, 0)', of],
      // It leaves the tenant to its caller.
      read_unfinished: [
        `select u.head as found from (select set_config('app.tenant_id', $1, true) as id offset 0) t,
         lateral app.read_unfinished(t.id::uuid, $2) u`,
        of,
      ],
    };
    const writes: Record<string, [...Call, refusal: string]> = {
      append_stream: [
        'select unnest(app.append_stream($1, $2, $3, $4, $5, $6)) as found',
        [[tenantId], [responseId], ...lane.map((n) => [n]), [1], ['{}']],
        'fenced',
      ],
      write_response: [
        'select app.write_response($1, $2, $3, $4, $5) as found',
        [...of, ...lane, '{}'],
        'conflict',
      ],
    };
    // These return no content: the number of running and of due responses.
    const counts = [
      'count_running',
      'has_unfinished',
      'list_expired',
      'list_lost_calls',
      'list_orphans',
      'list_stale',
    ];
    const { rows: all } = await engine.admin.query<{ name: string }>(
      String.raw`select p.proname as name from pg_proc p where p.pronamespace = 'app'::regnamespace
       and p.prosrc ~ '\m(from|join|update|into) (public\.)?(responses|stream_runs)\M'`,
    );
    const known = [...Object.keys(reads), ...Object.keys(writes), ...counts];
    expect(all.map(({ name }) => name).sort()).toEqual(known.sort());

    const answer = async (name: string, [text, values]: Call) => {
      const found = await engine.database.database.call<{ found: unknown }>(`the_${name}`, text, values);
      return found.map((row) => row.found).filter((value) => value !== null);
    };
    const answering = async () => {
      const each = Object.entries(reads).map(async ([name, call]) => ({
        name,
        found: await answer(name, call),
      }));
      return (await Promise.all(each)).filter(({ found }) => found.length > 0).map(({ name }) => name);
    };
    expect(await answering()).toEqual(Object.keys(reads));
    await expire();
    expect(await answering()).toEqual([]);
    for (const [name, [text, values, refusal]] of Object.entries(writes)) {
      expect(await answer(name, [text, values])).toEqual([refusal]);
    }
  });

  it('grants no consent for its calls', async () => {
    const approvalRequestId = `mcpr_${responseId}`;
    await engine.admin.query(
      `insert into items (tenant_id, id, response_id, output_index, type, wire, exchange)
     values ($1, $2, $3, 9, 'mcp_approval_request', '{"server_label":"crm","name":"pay"}',
       '{"call_id":"call_1","name":"mcp__crm__pay","arguments":"{}","result":null}')`,
      [engine.world.tenantId, approvalRequestId, responseId],
    );
    const input = requestOf(engine.world, {
      previousResponseId: responseId,
      input: [{ type: 'mcp_approval_response', approvalRequestId, approve: true, reason: null }],
    });
    await expire();
    await expect(engine.act((ctx) => answerApprovals(ctx, input, newResponseId()))).rejects.toMatchObject({
      code: 'invalid_request',
    });
  });

  it('passes its tokens to no other response', async () => {
    const pii = { mode: 'redact' };
    const scope = newResponseId();
    await engine.admin.query(
      `update responses set request = request || jsonb_build_object('redaction',
       jsonb_build_object('mode', 'redact', 'scope', $2::text, 'holders', jsonb_build_array(jsonb_build_object('responseId', $2::text))))
     where id = $1`,
      [responseId, scope],
    );
    const newId = newResponseId();
    const scopeNow = () =>
      engine.act(async (ctx) => {
        const space = await ctx.em.findOneOrFail(Space, { id: engine.world.spaceId });
        const demanding = Object.assign(Object.create(space) as Space, { policy: { version: 2, pii } });
        const input = requestOf(engine.world, { previousResponseId: responseId });
        const { redaction } = await screenInput(ctx, input, {
          space: demanding,
          responseId: newId,
          names: null,
        });
        return redaction?.scope;
      });
    expect(await scopeNow()).toBe(scope);
    await expire();
    expect(await scopeNow()).toBe(newId);
  });
});
