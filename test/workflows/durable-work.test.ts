import type { WorkflowHandle } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nilUuid } from '#domain/foundation/kernel/ids.ts';
import { SourceFailure, type SourceFailureCode } from '#domain/knowledge/connectors/source.ts';
import { reconcileConnectors } from '#domain/operations/maintenance/reconcile-connectors.ts';
import { ConnectorActors, type ActedConnector } from '#test/support/sources/connector-actors.ts';
import { sweepOnce } from '#test/support/sweeps.ts';

/*
 * What has gone wrong with synchronisation elsewhere, a test each, numbered as in the project's list of durable work.
 * The first three are of tenant deletion there; here they are of the deletion of a connector.
 */

let actors: ConnectorActors;

beforeAll(async () => {
  actors = await ConnectorActors.open();
});
afterAll(() => actors.stop());

const events = async ({ space }: ActedConnector) => {
  const { rows } = await actors.world.admin.query<{ event_type: string }>(
    'select event_type from events where tenant_id = $1 and resource_id = $2 order by created_at, id',
    [space.fixture.tenantId, space.connectorId],
  );
  return rows.map(({ event_type: type }) => type.replace('collection.', ''));
};
const set = (connector: ActedConnector, sql: string) =>
  actors.world.admin.query(`update connectors set ${sql} where id = $1`, [connector.space.connectorId]);
const sweep = () =>
  sweepOnce(reconcileConnectors, {
    database: actors.world.database.database,
    unitOfWork: actors.world.unitOfWork,
    dispatches: actors.world.dispatches,
  });
const refuse =
  (code: SourceFailureCode, retryAfterMs: number | null = null) =>
  (): never => {
    throw new SourceFailure(code, 'The source refuses.', { retryAfterMs });
  };
const beginningOf = async (handle: WorkflowHandle) =>
  (await handle.fetchHistory()).events?.[0]?.workflowExecutionStartedEventAttributes;
const many = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`d${n}`, `Document ${n}.`]));

describe('durable work', () => {
  it('1: a connector with rows in every table that refers to it is deleted whole', async () => {
    const connector = await actors.connect(many(3));
    await connector.sync();
    const { tenantId } = connector.space.fixture;
    await actors.world.admin.query(
      `insert into source_group_members (tenant_id, connector_id, group_id, address, listing) values ($1, $2, 'g', 'a@b.example', 1)`,
      [tenantId, connector.space.connectorId],
    );
    const { rows: tables } = await actors.world.admin.query<{ name: string }>(
      `select distinct conrelid::regclass::text as name from pg_constraint
       where contype = 'f' and confrelid = 'connectors'::regclass order by 1`,
    );
    expect(tables.map(({ name }) => name)).toEqual([
      'authorization_attempts',
      'mcp_connections',
      'source_documents',
      'source_group_members',
      'sync_runs',
    ]);
    await connector.space.delete();
    await connector.handle.signal('deleted');
    await connector.handle.result();
    for (const { name } of tables) {
      const { rowCount } = await actors.world.admin.query(`select from ${name} where tenant_id = $1`, [
        tenantId,
      ]);
      expect({ name, rowCount }).toEqual({ name, rowCount: 0 });
    }
  });

  it('2: the deletion of a connector does not depend on who may see its documents', async () => {
    const connector = await actors.connect();
    connector.source.put('a', 'Secret.', { readers: { addresses: ['nobody@b.example'], groups: [] } });
    await connector.sync();
    await actors.world.admin.query('update collections set enforce_source_readers = true where id = $1', [
      connector.space.collectionId,
    ]);
    await connector.space.delete();
    await connector.handle.signal('deleted');
    await connector.handle.result();
    expect(await connector.space.contents()).toEqual({});
  });

  it('3: a deletion that is repeated, also after its end, changes nothing', async () => {
    const connector = await actors.connect(many(2));
    await connector.sync();
    await connector.space.delete();
    await connector.space.delete();
    await connector.handle.signal('deleted');
    await connector.handle.result();
    await (await connector.restart()).result();
    expect((await events(connector)).filter((type) => type === 'connector_deleted')).toHaveLength(1);
  });

  it('4: a cancelled run gives its slot back at once, also while the source is silent', async () => {
    const connector = await actors.connect(many(2));
    let stopped = false;
    connector.source.fetch = (_input, signal) =>
      new Promise((_, refused) => {
        signal?.addEventListener('abort', () => {
          stopped = true;
          refused(signal.reason as Error);
        });
      });
    const id = await connector.begin();
    await expect.poll(async () => (await connector.space.runs())[0]?.status).toBe('running');
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    const began = Date.now();
    await connector.space.cancel(id);
    await connector.handle.signal('cancelRun', id);
    expect(await connector.end(id)).toMatchObject({ status: 'cancelled' });
    expect(stopped).toBe(true);
    expect(Date.now() - began).toBeLessThan(7_000);
  });

  it('5: a document that takes longer than the heartbeat timeout is fetched once', async () => {
    const connector = await actors.connect({ slow: 'Slow.' });
    connector.source.before = (request) =>
      request === 'fetch' ? new Promise((resolve) => setTimeout(resolve, 13_000)) : undefined;
    expect(await connector.sync()).toMatchObject({ status: 'completed', added: 1 });
    expect(connector.source.take('fetch')).toEqual(['fetch slow']);
  });

  it('6, 7: an actor continues as a new run after each run, so its history stays short', async () => {
    const connector = await actors.connect(many(2));
    const seen = new Set<string>();
    for (let n = 0; n < 3; n += 1) {
      await connector.sync();
      await expect
        .poll(async () => {
          const { runId, historyLength } = await connector.handle.describe();
          return seen.has(runId) ? 999 : historyLength;
        })
        .toBeLessThan(30);
      seen.add((await connector.handle.describe()).runId);
    }
    expect(seen.size).toBe(3);
  });

  it('8: an expired cursor begins the listing once more, and only once', async () => {
    const connector = await actors.connect(many(7));
    let failures = 1;
    connector.source.before = (request, cursor) => {
      if (request === 'list' && cursor === '3' && failures > 0) {
        failures -= 1;
        refuse('cursor_expired')();
      }
    };
    expect(await connector.sync()).toMatchObject({ status: 'completed', added: 7, recordsFetched: 7 });
    expect(connector.source.take('fetch')).toHaveLength(7);
    failures = 99;
    expect(await connector.sync()).toMatchObject({ status: 'failed', errorCode: 'cursor_expired' });
    expect(connector.source.take('list')).toHaveLength(4);
  });

  it.each<[SourceFailureCode, string, number]>([
    ['auth_failed', 'auth_required', 1],
    ['scope_invalid', 'error', 1],
    ['quota_exceeded', 'pending', 1],
    ['source_invalid', 'pending', 1],
  ])('9: %s is not retried, and the connector becomes %s', async (code, status, requests) => {
    const connector = await actors.connect(many(1));
    connector.source.before = refuse(code);
    expect(await connector.sync()).toMatchObject({ status: 'failed', errorCode: code });
    expect(connector.source.take('check')).toHaveLength(requests);
    expect(await connector.space.read()).toMatchObject({ status });
  });

  it('9: a source that is unreachable for seconds, or asks for a pause, is tried again', async () => {
    const connector = await actors.connect(many(2));
    const answers = [refuse('source_unreachable'), refuse('rate_limited', 1_500)];
    connector.source.before = () => answers.shift()?.();
    expect(await connector.sync()).toMatchObject({ status: 'completed', attempts: 2, rateLimitedMs: 1_500 });
  });

  it.each([
    ['the same cursor', () => 'again'],
    ['ever new cursors over the same page', (n: number) => `page ${n}`],
  ])('10: a listing of %s ends as truncated, and deletes nothing', async (_, cursorOf) => {
    const connector = await actors.connect(many(5));
    await connector.sync();
    let n = 0;
    connector.source.page = () => ({
      documents: [connector.source.listed('d0')],
      gone: [],
      next: cursorOf((n += 1)),
      checkpoint: null,
      total: null,
      scope: 'everything',
    });
    expect(await connector.sync()).toMatchObject({
      status: 'completed_with_errors',
      errorCode: 'source_truncated',
      deleted: 0,
    });
    expect(Object.keys(await connector.space.contents())).toHaveLength(5);
  });

  it('11, 19: a run whose workflows are lost is taken up again by the message of the sweep', async () => {
    const connector = await actors.connect(many(6));
    let release = (): void => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    connector.source.before = (request, cursor) => (request === 'list' && cursor === '3' ? held : undefined);
    const id = await connector.begin();
    await expect.poll(async () => (await connector.space.runs())[0]?.pages).toBe(1);
    await connector.handle.terminate('an operator');
    await set(connector, `due_at = now() - interval '1 second'`);
    // The messages before it were delivered.
    await actors.world.admin.query('delete from outbox');
    const { starts } = await sweep();
    release();
    expect(starts.map(({ workflowId }) => workflowId)).toContain(
      `connector/${connector.space.fixture.tenantId}/${connector.space.connectorId}`,
    );
    await connector.restart();
    expect(await connector.end(id)).toMatchObject({ status: 'completed', added: 6, recordsFetched: 6 });
    expect(await connector.space.runs()).toHaveLength(1);
  });

  it('12: a change of the configuration is a message, and a healthy run goes on', async () => {
    const connector = await actors.connect(many(6));
    let release = (): void => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    connector.source.before = (request, cursor) => (request === 'list' && cursor === '3' ? held : undefined);
    const id = await connector.begin();
    await expect.poll(async () => (await connector.space.runs())[0]?.pages).toBe(1);
    await connector.space.update({ syncSchedule: { type: 'interval', minutes: 60 } });
    await connector.handle.signal('configChanged');
    release();
    expect(await connector.end(id)).toMatchObject({ status: 'completed', attempts: 0 });
    expect(connector.source.take('check')).toHaveLength(1);
  });

  it('13, 16: the sweep leaves connectors alone whose actors were heard of in time', async () => {
    const connector = await actors.connect(many(1), { syncSchedule: { type: 'interval', minutes: 60 } });
    await expect.poll(async () => (await connector.space.read()).status).toBe('active');
    const { rows } = await actors.world.admin.query(
      'select * from app.list_overdue_connectors($1, $1, 100)',
      [nilUuid],
    );
    expect(rows.map(({ connector_id: id }: { connector_id: string }) => id)).not.toContain(
      connector.space.connectorId,
    );
  });

  it('14: the fifth failure in a row notifies people, suspension comes after thirty and a week, success clears', async () => {
    const connector = await actors.connect(many(1));
    connector.source.before = refuse('quota_exceeded');
    await set(connector, `failed_runs = 3, failing_since = now() - interval '8 days'`);
    await connector.sync();
    await connector.sync();
    await connector.sync();
    expect((await events(connector)).filter((type) => type === 'sync_failing')).toHaveLength(1);
    await set(connector, 'failed_runs = 29');
    await connector.sync();
    expect(await connector.space.read()).toMatchObject({ status: 'error', statusReason: 'quota_exceeded' });
    expect(await events(connector)).toContain('connector_suspended');
    connector.source.before = () => {};
    await connector.space.update({ status: 'active' });
    await connector.handle.signal('configChanged');
    await expect.poll(async () => (await connector.space.read()).failedRuns, { timeout: 20_000 }).toBe(0);
    expect(await connector.space.read()).toMatchObject({ status: 'active', statusReason: null });
  });

  it('15: a connector that has not synchronised for three intervals notifies people once', async () => {
    const connector = await actors.connect(many(1), { syncSchedule: { type: 'interval', minutes: 5 } });
    await expect.poll(async () => (await connector.space.read()).status).toBe('active');
    await connector.handle.terminate('an operator');
    await set(
      connector,
      `last_synced_at = now() - interval '16 minutes', due_at = now() - interval '1 second'`,
    );
    await sweep();
    await set(connector, `due_at = now() - interval '1 second'`);
    await sweep();
    expect((await events(connector)).filter((type) => type === 'sync_failing')).toHaveLength(1);
  });

  it('17: results of activities are counts, however many documents there are', async () => {
    const connector = await actors.connect(many(250));
    connector.source.pageSize = 100;
    const id = await connector.begin();
    await connector.end(id);
    const { tenantId } = connector.space.fixture;
    const run = actors.worker.client.getHandle(`connector-sync/${tenantId}/${id}`);
    const history = await run.fetchHistory();
    const sizes = (history.events ?? []).flatMap(({ activityTaskCompletedEventAttributes: done }) =>
      (done?.result?.payloads ?? []).map((payload) => payload.data?.length ?? 0),
    );
    expect(sizes.length).toBeGreaterThan(3);
    expect(Math.max(...sizes)).toBeLessThan(500);
    expect(JSON.stringify(history)).not.toContain(Buffer.from('Document 1').toString('base64').slice(0, 12));
  });

  it('a worker that dies with a task of a run or of its actor is replaced within two seconds', async () => {
    const connector = await actors.connect(many(1));
    const id = await connector.begin();
    await connector.end(id);
    const { tenantId, connectorId } = connector.space.ids;
    const run = actors.worker.client.getHandle(`connector-sync/${tenantId}/${id}`);
    const actor = actors.worker.client.getHandle(`connector/${tenantId}/${connectorId}`);
    await expect.poll(async () => (await beginningOf(actor))?.continuedExecutionRunId).toMatch(/./);
    for (const handle of [run, actor]) {
      expect(Number((await beginningOf(handle))?.workflowTaskTimeout?.seconds)).toBe(2);
    }
  });

  it('18: a run that is finished twice has one event of each kind', async () => {
    const connector = await actors.connect(many(1));
    const id = await connector.begin();
    await connector.end(id);
    await (await connector.restart().catch(() => connector.handle)).signal('configChanged');
    await connector.sync();
    const types = await events(connector);
    expect(types).toEqual(['connector_created', 'sync_completed', 'sync_completed']);
  });
});
