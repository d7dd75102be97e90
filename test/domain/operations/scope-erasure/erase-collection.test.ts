import type { EntityManager } from '@mikro-orm/postgresql';
import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nilUuid } from '#domain/foundation/kernel/ids.ts';
import { listBelow } from '#domain/operations/scope-erasure/scope-rows.ts';
import { planScope } from '#domain/operations/scope-erasure/plan-scope.ts';
import { readCatalogue } from '#domain/operations/erasure/read-catalogue.ts';
import { eraseScope } from '#domain/operations/scope-erasure/erase-scope.ts';
import {
  addTables,
  checksumWithout,
  openErasureWorld,
  type ErasureWorld,
} from '../../../support/erasure-world.ts';
import { countTenantRows, danglingKeys, fillTenant } from '../../../support/tenant-rows.ts';
import { connect } from '../../../support/tables.ts';
import { createWorld } from '../../../support/world.ts';

let world: ErasureWorld;

/** As later versions may add them; nothing of the erasure names them. */
const later = `
  create table collection_notes (
    tenant_id uuid not null references tenants, id uuid not null, collection_id uuid not null, text text not null,
    primary key (tenant_id, id), foreign key (tenant_id, collection_id) references collections);
  create index on collection_notes (tenant_id, collection_id);
  create table note_marks (
    tenant_id uuid not null references tenants, id uuid not null, note_id uuid not null, above uuid,
    primary key (tenant_id, id), foreign key (tenant_id, note_id) references collection_notes,
    foreign key (tenant_id, above) references note_marks);
  create index on note_marks (tenant_id, note_id);
  create index on note_marks (tenant_id, above);
  create table keyless_notes (
    tenant_id uuid not null references tenants, collection_id uuid not null, text text,
    foreign key (tenant_id, collection_id) references collections);`;
const laterTables = ['collection_notes', 'note_marks', 'keyless_notes'];

beforeAll(async () => {
  world = await openErasureWorld();
  await addTables(world.admin, later, laterTables);
});
afterAll(() => world?.stop());

/** Every table that is erased below collections, as the plan says. */
async function reached(): Promise<string[]> {
  const plan = planScope(await world.purge.acrossTenants(readCatalogue), 'collections');
  const found = new Set(['collections']);
  for (const table of found) {
    for (const { table: child, clears } of plan.below(table)) if (clears === null) found.add(child.name);
  }
  return [...found].toSorted();
}

/** A tenant whose rows of the same number belong together. @returns its first collection */
async function filled(rows: number) {
  const { tenantId } = await createWorld(world.database.unitOfWork);
  await fillTenant(world.admin, tenantId, rows);
  // Filled in, each refers to the one before, which is of another collection.
  await world.admin.query('update note_marks set above = null where tenant_id = $1', [tenantId]);
  expect(await danglingKeys(world.admin)).toEqual([]);
  const { rows: found } = await world.admin.query<{ id: string }>(
    'select collection_id as id from documents where tenant_id = $1 order by filename limit 1',
    [tenantId],
  );
  return { tenantId, rootId: found[0]!.id };
}

async function markDeleted({ tenantId, rootId }: { tenantId: string; rootId: string }) {
  await world.admin.query('update collections set deleted_at = now() where tenant_id = $1 and id = $2', [
    tenantId,
    rootId,
  ]);
  await world.admin.query(
    `insert into erasures (tenant_id, root_type, root_id) values ($1, 'collection', $2)`,
    [tenantId, rootId],
  );
}

const scopeOf = (ids: { tenantId: string; rootId: string }) => ({ ...ids, rootType: 'collection' as const });
const always = { mayGoOn: () => true, erased: () => {} };

async function recordOf({ tenantId, rootId }: { tenantId: string; rootId: string }) {
  const { rows } = await world.admin.query<{ erased: Record<string, number>; ended_at: Date | null }>(
    'select erased, ended_at from erasures where tenant_id = $1 and root_id = $2',
    [tenantId, rootId],
  );
  return rows[0];
}

/** Every row of some tables moves into one collection, with what refers to it. */
async function gather({ tenantId, rootId }: { tenantId: string; rootId: string }, tables: readonly string[]) {
  await world.admin.query('set session_replication_role = replica');
  for (const table of tables) {
    await world.admin.query(`update ${table} set collection_id = $2 where tenant_id = $1`, [
      tenantId,
      rootId,
    ]);
  }
  await world.admin.query('set session_replication_role = origin');
}

describe('the erasure of a collection', () => {
  it('erases its row in every table that foreign keys lead to, those added later too, and no other row', async () => {
    const tables = await reached();
    expect(tables).toEqual(
      [
        ...laterTables,
        'authorization_attempts',
        'chunk_embeddings',
        'chunk_vectors',
        'chunks',
        'collections',
        'connectors',
        'documents',
        'language_changes',
        'lexeme_stats',
        'source_documents',
        'source_group_members',
        'sync_runs',
      ].toSorted(),
    );
    const gone = await filled(3);
    const other = await filled(3);
    await world.admin.query(
      'update authorization_attempts set connector_id = c.id, server_id = null from connectors c where c.tenant_id = $1 and c.collection_id = $2 and authorization_attempts.tenant_id = $1',
      [gone.tenantId, gone.rootId],
    );
    const counts = await countTenantRows(world.admin, gone.tenantId);
    const others = await checksumWithout(world.admin, gone.tenantId);
    await markDeleted(gone);
    expect(await eraseScope(world.purge, scopeOf(gone), always)).toBe(true);
    const left = await countTenantRows(world.admin, gone.tenantId);
    const erased = Object.fromEntries(
      Object.keys(counts)
        .map((table) => [table, counts[table]! - left[table]!] as const)
        .filter(([table, rows]) => rows !== 0 && !['events', 'event_dedupe', 'erasures'].includes(table)),
    );
    const one = Object.fromEntries(tables.map((table) => [table, 1]));
    expect(erased).toEqual({ ...one, authorization_attempts: 3 });
    expect(await recordOf(gone)).toMatchObject({ erased, ended_at: expect.any(Date) });
    expect(await danglingKeys(world.admin)).toEqual([]);
    expect(await checksumWithout(world.admin, gone.tenantId)).toEqual(others);
    expect(await recordOf(other)).toBeUndefined();
    const { rows } = await world.admin.query(
      `select metadata from events where tenant_id = $1 and event_type = 'collection.erased' and resource_id = $2`,
      [gone.tenantId, gone.rootId],
    );
    expect(rows).toMatchObject([{ metadata: { ...erased, rows: tables.length + 2 } }]);
    // Repeated, it finds nothing to do.
    expect(await eraseScope(world.purge, scopeOf(gone), always)).toBe(true);
    expect(await countTenantRows(world.admin, gone.tenantId)).toEqual(left);
  });

  it('goes on where kills and pauses stopped it, and counts each row once', async () => {
    const gone = await filled(250);
    const tables = [
      'documents',
      'chunks',
      'chunk_vectors',
      'lexeme_stats',
      'collection_notes',
      'keyless_notes',
    ];
    await gather(gone, tables);
    // Twelve marks refer to each other in a chain, against the order in which they are erased.
    await world.admin.query(
      `with chain as (select id, lead(id) over (order by id) as next from (
         select id from note_marks where tenant_id = $1 order by id limit 12) few)
       update note_marks m set above = chain.next from chain where m.tenant_id = $1 and m.id = chain.id`,
      [gone.tenantId],
    );
    const counts = await countTenantRows(world.admin, gone.tenantId);
    await markDeleted(gone);
    const others = await checksumWithout(world.admin, gone.tenantId);
    let kills = 0;
    let pauses = 0;
    const killer = await connect(world.database.adminUrl);
    for (let isGone = false; !isGone && pauses < 100; pauses += 1) {
      let batches = 0;
      const killed: Promise<unknown>[] = [];
      const mayGoOn = () => {
        batches += 1;
        if (batches === 4 + pauses && pauses % 2 === 1) killed.push(killSessions(killer));
        return batches < 7 + 2 * pauses;
      };
      try {
        isGone = await eraseScope(world.purge, scopeOf(gone), { mayGoOn, erased: () => {} });
      } catch {
        kills += 1;
      }
      await Promise.all(killed);
    }
    await killer.end();
    expect(kills).toBeGreaterThan(0);
    expect(pauses).toBeGreaterThan(3);
    const left = await countTenantRows(world.admin, gone.tenantId);
    const record = (await recordOf(gone))!;
    for (const table of [...tables, 'note_marks', 'chunk_embeddings']) {
      expect([table, left[table], record.erased[table]]).toEqual([table, 0, counts[table]]);
    }
    expect(await danglingKeys(world.admin)).toEqual([]);
    expect(await checksumWithout(world.admin, gone.tenantId)).toEqual(others);
  });

  it('looks rows up by their keys: it reads nothing of other collections', async () => {
    const { tenantId } = await filled(300);
    await world.admin.query('analyze chunks; analyze chunk_embeddings');
    const plan = planScope(await world.purge.acrossTenants(readCatalogue), 'collections');
    const above = plan.below('collections').find(({ table }) => table.name === 'chunks')!.table;
    const branch = plan.below('chunks').find(({ table }) => table.name === 'chunk_embeddings')!;
    const names = ['tenant_id', ...above.key.map(({ name }) => name)].map((name) => `${name}::text`);
    const { rows } = await world.admin.query<{ key: string[] }>(
      `select array[${names.join(', ')}] as key from chunks where tenant_id = $1 limit 5`,
      [tenantId],
    );
    const explained = await world.purge.inTenant(tenantId, async (em) => {
      let text = '';
      const execute = async (sql: string, values: unknown[]) => {
        text = JSON.stringify(await em.execute(`explain ${sql}`, values));
        return [];
      };
      const keys = rows.map(({ key }) => key);
      await listBelow({ execute } as unknown as EntityManager, {
        branch,
        above,
        keys,
        size: 10,
        leaves: false,
      });
      return text;
    });
    expect(explained).toContain('(document_id = page_1.k1)');
    expect(explained).not.toContain('Join Filter');
  });

  it('holds the locks of no more rows than a batch has time for', async () => {
    const gone = await filled(30);
    await gather(gone, ['collection_notes']);
    await world.admin.query(`
      create function slow_delete() returns trigger language plpgsql as 'begin perform pg_sleep(0.02); return old; end';
      create trigger slow before delete on collection_notes for each row execute function slow_delete();`);
    await markDeleted(gone);
    const batches: number[] = [];
    const erased = (table: string, rows: number) => void (table === 'collection_notes' && batches.push(rows));
    expect(await eraseScope(world.purge, scopeOf(gone), { mayGoOn: () => true, erased })).toBe(true);
    await world.admin.query('drop trigger slow on collection_notes; drop function slow_delete()');
    expect(batches.reduce((sum, rows) => sum + rows, 0)).toBe(30);
    // 20 ms a row: more than four rows would hold their locks for over 90 ms.
    expect(Math.max(...batches)).toBeLessThanOrEqual(4);
  });

  it('takes what a transaction wrote below it that began before the deletion', async () => {
    const gone = await filled(2);
    await markDeleted(gone);
    const { tenantId, rootId } = gone;
    let reached = '';
    const pass = {
      mayGoOn: () => reached !== 'documents',
      erased: (table: string) => void (reached = table),
    };
    expect(await eraseScope(world.purge, scopeOf(gone), pass)).toBe(false);
    await world.admin.query(
      'insert into collection_notes (tenant_id, id, collection_id, text) values ($1, gen_random_uuid(), $2, $3)',
      [tenantId, rootId, 'late'],
    );
    expect(await eraseScope(world.purge, scopeOf(gone), always)).toBe(true);
    expect((await recordOf(gone))!.erased['collection_notes']).toBe(2);
    expect(await danglingKeys(world.admin)).toEqual([]);
  });

  it('leaves a collection alone that is not deleted, and one of another tenant', async () => {
    const kept = await filled(2);
    const stranger = await filled(2);
    await markDeleted(kept);
    await world.admin.query('update collections set deleted_at = null where tenant_id = $1', [kept.tenantId]);
    const before = await checksumWithout(world.admin, nilUuid);
    expect(await eraseScope(world.purge, scopeOf(kept), always)).toBe(true);
    const foreign = { tenantId: stranger.tenantId, rootId: kept.rootId };
    expect(await eraseScope(world.purge, scopeOf(foreign), always)).toBe(true);
    await world.admin.query(
      `insert into erasures (tenant_id, root_type, root_id) values ($1, 'collection', $2)`,
      [foreign.tenantId, foreign.rootId],
    );
    expect(await eraseScope(world.purge, scopeOf(foreign), always)).toBe(true);
    expect(await recordOf(foreign)).toMatchObject({ erased: {} });
    const after = await checksumWithout(world.admin, nilUuid);
    const changed = Object.keys(before).filter((table) => before[table] !== after[table]);
    expect(changed.filter((table) => !/events|event_dedupe|erasures/.test(table))).toEqual([]);
  });
});

/** Ends every session of the purge role, in mid-transaction where it is in one. */
const killSessions = (killer: Client) =>
  killer.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and usename = 'app_purge'`,
  );
