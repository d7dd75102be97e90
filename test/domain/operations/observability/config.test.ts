import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { prepareExport } from '#domain/operations/observability/prepare-export.ts';
import {
  removeObservability,
  setObservability,
  type SetObservability,
} from '#domain/operations/observability/set-observability.ts';
import { spanIdOf, traceIdOf } from '#domain/responses/record/trace-ids.ts';
import { openEngine, type Engine } from '../../../support/engine.ts';
import { secrets } from '../../../support/world.ts';

let engine: Engine;
const secretKey = 'sk-canary-5d1e';
const input: SetObservability = { publicKey: 'pk', secretKey, projectId: null, baseUrl: null };

beforeAll(async () => {
  engine = await openEngine();
});
afterAll(() => engine.stop());

const set = (change: Partial<SetObservability> = {}) =>
  engine.act((ctx) => setObservability(ctx, { ...input, ...change }));
const remove = () => engine.act(removeObservability);
const rows = async () => (await engine.admin.query('select * from observability_configs')).rows;

async function answered(): Promise<string> {
  const id = await engine.create();
  const attempt = await engine.attempt(id);
  await attempt.say('The moon.');
  await attempt.commit();
  return id;
}

const pending = async (id: string) => {
  const { rows: found } = await engine.admin.query(
    `select workflow_id, payload from outbox where workflow_type = 'traceResponse' and payload ->> 'responseId' = $1`,
    [id],
  );
  return found;
};
const prepared = (id: string) =>
  engine.database.unitOfWork.inTenant(engine.world.tenantId, (em) => prepareExport({ em, secrets }, id));

describe('the configuration of a space', () => {
  it('is sealed at rest, opens for the export, and its event contains none of it', async () => {
    await set();
    expect(JSON.stringify(await rows())).not.toContain(secretKey);
    expect(await rows()).toMatchObject([{ public_key: 'pk', secret_key: expect.stringMatching(/^v1\|/) }]);
    const id = await answered();
    expect((await prepared(id))?.target).toMatchObject({ publicKey: 'pk', secretKey });
    const { rows: events } = await engine.admin.query(
      `select resource_type, resource_id, metadata::text as metadata from events
         where event_type = 'space.observability_updated'`,
    );
    expect(events).toMatchObject([{ resource_type: 'space', resource_id: engine.world.spaceId }]);
    expect(JSON.stringify(events)).not.toContain(secretKey);
  });

  it('is sealed again and writes an event each time it is set, also with the same secret', async () => {
    const notified = async () =>
      (await engine.admin.query(`select 1 from events where event_type = 'space.observability_updated'`))
        .rows;
    const before = { row: (await rows())[0]!, events: await notified() };
    await set();
    expect((await rows())[0]!.secret_key).not.toBe(before.row.secret_key);
    expect(await notified()).toHaveLength(before.events.length + 1);
  });

  it('whose secret is copied to another space’s row does not open', async () => {
    const id = await answered();
    const [{ secret_key: sealed }] = (await rows()) as [{ secret_key: string }];
    const { rows: spaces } = await engine.admin.query<{ id: string }>(
      `insert into spaces (tenant_id, id, name) values ($1, gen_random_uuid(), 'Next door') returning id`,
      [engine.world.tenantId],
    );
    await engine.admin.query(
      `insert into observability_configs (tenant_id, space_id, public_key, secret_key, updated_by) values ($1, $2, 'pk', $3, $4)`,
      [engine.world.tenantId, spaces[0]!.id, sealed, engine.world.owner.principalId],
    );
    await engine.admin.query('update responses set space_id = $2 where id = $1', [id, spaces[0]!.id]);
    await expect(prepared(id)).rejects.toThrow();
    await engine.admin.query('delete from observability_configs where space_id = $1', [spaces[0]!.id]);
  });

  it('is one, however many set it at once, and a new one replaces all of the old', async () => {
    await remove();
    await Promise.all([set(), set({ publicKey: 'pk-2' }), set({ baseUrl: 'https://traces.example.com' })]);
    expect(await rows()).toHaveLength(1);
    await set({ projectId: ['any', 1] });
    expect(await rows()).toMatchObject([{ public_key: 'pk', base_url: null, project_id: ['any', 1] }]);
  });

  it.each([
    [{ publicKey: 'a:b' }, 'invalid_request'],
    [{ publicKey: 'a b' }, 'invalid_request'],
    [{ secretKey: 'a\nb' }, 'invalid_request'],
    [{ projectId: 'x'.repeat(1_001) }, 'invalid_request'],
    [{ baseUrl: 'ftp://traces.example.com' }, 'url_not_allowed'],
    [{ baseUrl: 'https://user:word@traces.example.com' }, 'url_not_allowed'],
    [{ baseUrl: 'https://traces.example.com/?key=x' }, 'url_not_allowed'],
    [{ baseUrl: 'traces.example.com' }, 'url_not_allowed'],
  ])('is refused with %j', async (change, code) => {
    await expect(set(change)).rejects.toMatchObject({ code });
  });
});

describe('the end of a response', () => {
  it('enqueues the export of its trace once where its space is configured, and none where it is not', async () => {
    await set();
    const traced = await answered();
    expect(await pending(traced)).toEqual([
      {
        workflow_id: `trace/${engine.world.tenantId}/${traced}`,
        payload: { tenantId: engine.world.tenantId, spaceId: engine.world.spaceId, responseId: traced },
      },
    ]);
    expect((await engine.record(traced)).platform.tracing_trace_id).toBe(traceIdOf(traced));
    await remove();
    const plain = await answered();
    expect(await pending(plain)).toEqual([]);
    expect((await engine.record(plain)).platform.tracing_trace_id).toBeNull();
    expect(await prepared(traced)).toBeNull();
  });

  it('is required before its trace', async () => {
    await set();
    const id = await engine.create();
    expect(await prepared(id)).toBeNull();
    expect(await pending(id)).toEqual([]);
  });
});

describe('the ids of a trace', () => {
  it('are the same each time, and each part has its own', () => {
    expect(traceIdOf('resp_a')).toBe(traceIdOf('resp_a'));
    expect(traceIdOf('resp_a')).not.toBe(traceIdOf('resp_b'));
    const spans = [spanIdOf('resp_a'), spanIdOf('resp_a', 'turn', 1, 2), spanIdOf('resp_a', 'call', 1, 2)];
    expect(new Set([...spans, spanIdOf('resp_a', 'turn', 12)]).size).toBe(4);
    for (const id of spans) {
      expect(id).toMatch(/^[0-9a-f]{16}$/);
    }
  });
});
