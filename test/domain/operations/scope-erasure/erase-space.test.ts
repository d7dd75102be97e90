import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { WorkflowState } from '#domain/foundation/durable/workflow-inspector.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { sweeps } from '#domain/operations/maintenance/sweeps.ts';
import { createContext, type Context } from '#domain/foundation/access/context.ts';
import { loadCaller } from '#domain/foundation/access/load-caller.ts';
import { readCatalogue } from '#domain/operations/erasure/read-catalogue.ts';
import { eraseScope } from '#domain/operations/scope-erasure/erase-scope.ts';
import { haltSpace } from '#domain/operations/scope-erasure/halt-space.ts';
import { planScope } from '#domain/operations/scope-erasure/plan-scope.ts';
import { createCollection } from '#domain/knowledge/collections/create-collection.ts';
import { findTargets } from '#domain/knowledge/search/find-targets.ts';
import { deleteSpace } from '#domain/workspace/spaces/delete-space.ts';
import { listSpaces } from '#domain/workspace/spaces/list-spaces.ts';
import { openSpace } from '#domain/workspace/spaces/open-space.ts';
import { openEngine, type Engine } from '../../../support/engine.ts';
import { checksumWithout } from '../../../support/erasure-world.ts';
import { Purge } from '../../../support/purge.ts';
import { inspectorSaying, sweepOnce } from '../../../support/sweeps.ts';
import { countTenantRows, danglingKeys, fillTenant } from '../../../support/tenant-rows.ts';
import { createWorld, secrets } from '../../../support/world.ts';

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

const always = { mayGoOn: () => true, erased: () => {} };
const run = (sql: string, values: unknown[]) => engine.admin.query<Record<string, unknown>>(sql, values);

/** Rows of a tenant that name a space, per table; without those that are kept. */
async function naming(tenantId: string, spaceId: string): Promise<string[]> {
  const { rows } = await run(
    `select c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'space_id'
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition order by 1`,
    [],
  );
  const found: string[] = [];
  for (const { name } of rows) {
    const { rowCount } = await run(`select from "${String(name)}" where tenant_id = $1 and space_id = $2`, [
      tenantId,
      spaceId,
    ]);
    if (rowCount! > 0) found.push(String(name));
  }
  return found;
}

describe('the erasure of a space', () => {
  it('erases what foreign keys and the three kept ids of responses lead to, and no other row', async () => {
    const { tenantId } = await createWorld(engine.database.unitOfWork);
    await fillTenant(engine.admin, tenantId, 3);
    // What names a response without a foreign key belongs to that of the same number.
    for (const [table, column] of [
      ['items', 'response_id'],
      ['stream_runs', 'response_id'],
      ['response_ids', 'id'],
    ]) {
      await run(
        `update ${table} set ${column} = replace(${column}, '${table}-${column}-', 'responses-id-') where tenant_id = $1`,
        [tenantId],
      );
    }
    const { rows } = await run(
      `select space_id as id from responses where tenant_id = $1 and id like '%-1'`,
      [tenantId],
    );
    const spaceId = String(rows[0]!['id']);
    // A response of another space that is in a thread of this one stays, without it.
    await run(
      `update responses set thread_id = (select id from threads where tenant_id = $1 and space_id = $2) where tenant_id = $1 and id like '%-2'`,
      [tenantId, spaceId],
    );
    expect(await danglingKeys(engine.admin)).toEqual([]);
    const counts = await countTenantRows(engine.admin, tenantId);
    const others = await checksumWithout(engine.admin, tenantId);
    await run('update spaces set deleted_at = now() where tenant_id = $1 and id = $2', [tenantId, spaceId]);
    await run(`insert into erasures (tenant_id, root_type, root_id) values ($1, 'space', $2)`, [
      tenantId,
      spaceId,
    ]);
    const scope = { tenantId, rootType: 'space', rootId: spaceId } as const;
    // A model of the tenant that uses a credential of the space is no part of it: the erasure waits for its change.
    await expect(eraseScope(purge, scope, always)).rejects.toMatchObject({ code: '23503' });
    await run('update models set credential_id = null where tenant_id = $1', [tenantId]);
    await run('update embedding_models set credential_id = null where tenant_id = $1', [tenantId]);
    await run('update reranking_models set credential_id = null where tenant_id = $1', [tenantId]);
    expect(await eraseScope(purge, scope, always)).toBe(true);
    const left = await countTenantRows(engine.admin, tenantId);
    const erased = Object.fromEntries(
      Object.keys(counts)
        .map((table) => [table, counts[table]! - left[table]!] as const)
        .filter(([table, n]) => n !== 0 && !['events', 'event_dedupe', 'erasures'].includes(table)),
    );
    const plan = planScope(await purge.acrossTenants(readCatalogue), 'spaces');
    const reached = new Set(['spaces']);
    for (const table of reached) {
      for (const { table: child, clears } of plan.below(table)) if (clears === null) reached.add(child.name);
    }
    expect(Object.keys(erased).toSorted()).toEqual([...reached].toSorted());
    expect([...reached]).toEqual(
      expect.arrayContaining(['messages', 'items', 'stream_runs', 'credentials', 'invites']),
    );
    for (const kept of [
      'models',
      'principals',
      'usage_ledger',
      'notifications',
      'stored_objects',
      'events',
    ]) {
      expect(reached).not.toContain(kept);
    }
    const { rows: record } = await run('select erased, ended_at from erasures where root_id = $1', [spaceId]);
    expect(record).toMatchObject([{ erased, ended_at: expect.any(Date) }]);
    expect(await danglingKeys(engine.admin)).toEqual([]);
    // Costs stay with their ids.
    expect(await naming(tenantId, spaceId)).toEqual([]);
    const { rows: other } = await run(
      `select thread_id from responses where tenant_id = $1 and id like '%-2'`,
      [tenantId],
    );
    expect(other).toEqual([{ thread_id: null }]);
    expect(await checksumWithout(engine.admin, tenantId)).toEqual(others);
  });
});

describe('a column that names what can be deleted, without a foreign key', () => {
  it('is decided about: its rows go with what they name, or stay', async () => {
    const { rows } = await run(
      `select c.relname || '.' || a.attname as name from pg_class c join pg_attribute a on a.attrelid = c.oid
       where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
         and a.attname ~ '^(space|collection|project|connector|document|thread|response|message|server)_id$'
         and not exists (select from pg_constraint f where f.contype = 'f' and f.conrelid = c.oid and a.attnum = any (f.conkey))
       order by 1`,
      [],
    );
    const decided = {
      'items.response_id': 'goes',
      'language_changes.document_id': 'is a place in a walk: goes with its collection',
      'messages.response_id': 'goes with its thread',
      'observability_configs.project_id': 'names a project of another system',
      'response_ids.space_id': 'goes with the response of the same id',
      'stream_runs.response_id': 'goes',
      'usage_ledger.response_id': 'stays: costs',
      'usage_ledger.space_id': 'stays: costs',
    };
    expect(rows.map(({ name }) => name)).toEqual(Object.keys(decided));
  });
});

describe('the sweep of erasures', () => {
  it('starts a workflow again that Temporal has lost or that was ended, and no other', async () => {
    const { database, world, dispatches } = engine;
    const { tenantId } = world;
    await run(`update erasures set ended_at = now()`, []);
    const rootId = newId();
    await run(`insert into erasures (tenant_id, root_type, root_id) values ($1, 'collection', $2)`, [
      tenantId,
      rootId,
    ]);
    const sweep = async (state: WorkflowState) => {
      const deps = { database: database.database, unitOfWork: database.unitOfWork, dispatches };
      const { starts } = await sweepOnce(sweeps.reconcileErasures.sweep, {
        ...deps,
        inspector: inspectorSaying(state),
      });
      const pending = await run('delete from outbox where tenant_id = $1', [tenantId]);
      return [starts.map(({ payload }) => payload), pending.rowCount];
    };
    await run('delete from outbox', []);
    expect(await sweep('open')).toEqual([[], 0]);
    const start = { tenantId, rootType: 'collection', rootId };
    expect(await sweep('closed')).toEqual([[start], 1]);
    expect(await sweep('unknown_id')).toEqual([[start], 1]);
    await run('update erasures set ended_at = now() where root_id = $1', [rootId]);
    expect(await sweep('unknown_id')).toEqual([[], 0]);
  });
});

describe('a deleted space', () => {
  it('is out of sight at once, its work is ended with its status, and nothing but its costs is left', async () => {
    const { tenantId, spaceId } = engine.world;
    const kept = await engine.act((ctx) => openSpace(ctx, { name: 'Kept' }));
    const { collection } = await engine.act((ctx) => createCollection(ctx, { name: 'Tides' }));
    await run('update collections set chunk_count = 1 where id = $1', [collection.id]);
    await engine.begin();
    const ended = await engine.create();
    const attempt = await engine.attempt(ended);
    await attempt.say('Twice');
    await attempt.commit();
    const running = await engine.create();
    await (await engine.attempt(running)).say('Twice');
    const inTenant = <T>(work: (ctx: Context) => Promise<T>) =>
      engine.database.unitOfWork.inTenant(tenantId, async (em) => {
        const identity = { ...engine.world.owner, apiKeyId: null, keyPermissions: null };
        const caller = await loadCaller(em, identity, { via: 'api', requestId: null }, null);
        return work(createContext({ caller, em, secrets }));
      });
    const searched = () => inTenant((ctx) => findTargets(ctx, null));
    expect(await searched()).toEqual([{ spaceId, collectionIds: null }]);
    await engine.act(deleteSpace);
    expect(engine.dispatches).toContainEqual(
      expect.objectContaining({ kind: 'start', workflowId: `erasure/${tenantId}/space/${spaceId}` }),
    );
    await expect(engine.act(async () => {})).rejects.toMatchObject({ code: 'space_not_found' });
    expect(await searched()).toEqual([]);
    const page = await inTenant((ctx) => listSpaces(ctx, { limit: 10, cursor: null }));
    expect(page.items.map(({ id }) => id)).toEqual([kept.space.id]);
    // The notice to its members is on its way.
    expect(await haltSpace(engine.database.unitOfWork, { tenantId, spaceId })).toBe(1);
    await run('delete from fan_outs where tenant_id = $1', [tenantId]);
    expect(await haltSpace(engine.database.unitOfWork, { tenantId, spaceId })).toBe(0);
    const { rows } = await run('select status from responses where tenant_id = $1 order by created_at', [
      tenantId,
    ]);
    expect(rows).toEqual([{ status: 'completed' }, { status: 'cancelled' }]);
    const { rows: cancels } = await run(
      `select workflow_id as id from outbox where tenant_id = $1 and kind = 'cancel'`,
      [tenantId],
    );
    expect(cancels).toEqual([{ id: `response/${tenantId}/${running}` }]);
    expect(
      (await run('select from collections where deleted_at is null and space_id = $1', [spaceId])).rowCount,
    ).toBe(0);
    expect(await eraseScope(purge, { tenantId, rootType: 'space', rootId: spaceId }, always)).toBe(true);
    expect(await naming(tenantId, spaceId)).toEqual(['usage_ledger']);
    const { rows: spaces } = await run('select id from spaces where tenant_id = $1', [tenantId]);
    expect(spaces).toEqual([{ id: kept.space.id }]);
    const { rows: events } = await run(
      `select event_type, metadata ->> 'members' as members from events
       where tenant_id = $1 and resource_id = $2 and event_type in ('space.deleted', 'space.erased') order by id`,
      [tenantId, spaceId],
    );
    expect(events).toMatchObject([
      { event_type: 'space.deleted', members: '1' },
      { event_type: 'space.erased' },
    ]);
  });
});
