import { randomUUID } from 'node:crypto';
import type { EntityManager } from '@mikro-orm/postgresql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { newResponseId } from '#domain/foundation/kernel/ids.ts';
import { addMessage } from '#domain/conversations/messages/add-message.ts';
import { startThread } from '#domain/conversations/messages/start-thread.ts';
import { readCatalogue } from '#domain/operations/erasure/read-catalogue.ts';
import { sweeps } from '#domain/operations/maintenance/sweeps.ts';
import { eraseScope } from '#domain/operations/scope-erasure/erase-scope.ts';
import { haltPrincipal } from '#domain/operations/scope-erasure/halt-principal.ts';
import { hideOwn } from '#domain/operations/scope-erasure/hide-own.ts';
import { planScope } from '#domain/operations/scope-erasure/plan-scope.ts';
import { createResponse } from '#domain/responses/accept/create-response.ts';
import { deletePrincipal } from '#domain/workspace/members/delete-principal.ts';
import { openSpace } from '#domain/workspace/spaces/open-space.ts';
import { openEngine, requestOf, type Engine } from '../../../support/engine.ts';
import { checksumWithout } from '../../../support/erasure-world.ts';
import { Purge } from '../../../support/purge.ts';
import { inspectorSaying, sweepOnce } from '../../../support/sweeps.ts';
import { countTenantRows, danglingKeys, fillTenant } from '../../../support/tenant-rows.ts';
import { connect, untilBlocked } from '../../../support/tables.ts';
import { addMember, createWorld } from '../../../support/world.ts';

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
const run = (sql: string, values: unknown[] = []) => engine.admin.query<Record<string, unknown>>(sql, values);
const scopeOf = (tenantId: string, rootId: string) => ({ tenantId, rootType: 'principal', rootId }) as const;

/** What of a deleted person is left in a tenant: the columns that hold its id. */
const stays = [
  'collections.created_by',
  'connectors.principal_id',
  'credentials.created_by',
  'documents.created_by',
  'erasures.root_id',
  'event_dedupe.key',
  'events.actor_id',
  'events.metadata',
  'events.resource_id',
  'identity_providers.confirmed_by',
  'invites.answered_by',
  'invites.invited_by',
  'mcp_connections.connected_by',
  'mcp_servers.created_by',
  'messages.created_by',
  'observability_configs.updated_by',
  'principals.id',
  'projects.created_by',
  'responses.cancelled_by',
  'responses.principal_id',
  'skill_versions.created_by',
  'skill_versions.deprecated_by',
  'skills.created_by',
  'sync_runs.created_by',
  'threads.created_by',
  'usage_ledger.principal_id',
];

/** Every column of every table of tenants in whose text an id stands. */
async function holding(tenantId: string, id: string): Promise<string[]> {
  const { rows } = await engine.admin.query<{ table: string; column: string }>(
    `select c.relname as table, a.attname as column from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition and not a.attisdropped
       and exists (select from pg_attribute t where t.attrelid = c.oid and t.attname = 'tenant_id') order by 1, 2`,
  );
  const parts = rows.map(
    ({ table, column }) =>
      `select '${table}.${column}' as name where exists (select from "${table}"
         where tenant_id = '${tenantId}' and position('${id}' in "${column}"::text) > 0)`,
  );
  const { rows: found } = await run(`${parts.join(' union all ')} order by 1`);
  return found.map(({ name }) => String(name));
}

/** The rows of a tenant as text, each with its table. */
async function linesOf(tenantId: string): Promise<string[]> {
  const tables = Object.keys(await countTenantRows(engine.admin, tenantId));
  const parts = tables.map(
    (table) => `select '${table} ' || t::text as line from "${table}" t where tenant_id = '${tenantId}'`,
  );
  const { rows } = await run(parts.join(' union all '));
  return rows.map(({ line }) => String(line));
}

const tableOf = (line: string) => line.slice(0, line.indexOf(' '));
const tally = (lines: readonly string[]) =>
  Object.fromEntries([...Map.groupBy(lines, tableOf)].map(([table, some]) => [table, some.length]));

/** A tenant with `rows` rows of every kind; those of the same number belong together. @returns its first person */
async function filled(rows: number) {
  const { tenantId } = await createWorld(engine.database.unitOfWork);
  await fillTenant(engine.admin, tenantId, rows);
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
  await run('update responses set deleted_at = null where tenant_id = $1', [tenantId]);
  const { rows: found } = await run(
    `select principal_id as id from responses where tenant_id = $1 and id like '%-1'`,
    [tenantId],
  );
  const id = String(found[0]!['id']);
  return { tenantId, id };
}

/** References without a foreign key: the person's, too. */
async function nameElsewhere(tenantId: string, id: string) {
  for (const column of [
    'idempotency_keys.principal_id',
    'response_ids.principal_id',
    'usage_ledger.principal_id',
  ]) {
    const [table, name] = column.split('.');
    await run(
      `update ${table} set ${name} = $2 where tenant_id = $1 and ctid = (select ctid from ${table} where tenant_id = $1 limit 1)`,
      [tenantId, id],
    );
  }
}

/** All rows become those of one person. */
async function gather(tenantId: string, id: string) {
  await run('set session_replication_role = replica');
  for (const [table, column] of [
    ['threads', 'created_by'],
    ['messages', 'created_by'],
    ['responses', 'principal_id'],
    ['notifications', 'user_id'],
    ['sessions', 'principal_id'],
    ['api_keys', 'principal_id'],
  ]) {
    await run(`update ${table} set ${column} = $2 where tenant_id = $1`, [tenantId, id]);
  }
  // What goes by the cascade of a row of its own table is not counted.
  await run('delete from thread_branches where tenant_id = $1 and parent_branch_id is not null', [tenantId]);
  await run('update messages set parent_message_id = null where tenant_id = $1', [tenantId]);
  await run('set session_replication_role = origin');
}

async function markDeleted(tenantId: string, id: string) {
  await run(
    `update principals set deleted_at = now(), status = 'disabled', name = null, email = null where tenant_id = $1 and id = $2`,
    [tenantId, id],
  );
  await run(`insert into erasures (tenant_id, root_type, root_id) values ($1, 'principal', $2)`, [
    tenantId,
    id,
  ]);
}

const recordOf = async (tenantId: string, id: string) => {
  const { rows } = await engine.admin.query<{ erased: Record<string, number>; ended_at: Date | null }>(
    'select erased, ended_at from erasures where tenant_id = $1 and root_id = $2',
    [tenantId, id],
  );
  return rows[0]!;
};

describe('the erasure of a person', () => {
  it('erases what is its own in every table, clears its uses, and changes no other row', async () => {
    const { tenantId, id } = await filled(3);
    await nameElsewhere(tenantId, id);
    // Every message is in the first thread: of others, it would be theirs, too.
    await run('update messages set created_by = $2, parent_message_id = null where tenant_id = $1', [
      tenantId,
      id,
    ]);
    expect(await danglingKeys(engine.admin)).toEqual([]);
    const others = await checksumWithout(engine.admin, tenantId);
    await markDeleted(tenantId, id);
    await hideOwn(purge, { tenantId, principalId: id });
    const before = await linesOf(tenantId);
    expect(await eraseScope(purge, scopeOf(tenantId, id), always)).toBe(true);
    const after = await linesOf(tenantId);
    const [had, has] = [new Set(before), new Set(after)];
    const { erased, ended_at: endedAt } = await recordOf(tenantId, id);
    expect(endedAt).toBeInstanceOf(Date);
    const came = tally(after.filter((line) => !had.has(line)));
    // Cleared, and the record itself.
    expect(came).toMatchObject({ erasures: 1, events: 1 });
    const cleared = Object.keys(came).filter((table) => !/^(erasures|event_?\w*)$/.test(table));
    expect(cleared).toEqual([
      'connectors',
      'embedding_models',
      'mcp_servers',
      'models',
      'reranking_models',
      'used_id_tokens',
    ]);
    const gone = tally(before.filter((line) => !has.has(line)));
    for (const [table, rows] of Object.entries(came)) gone[table] = (gone[table] ?? 0) - rows;
    const erasedRows = Object.fromEntries(
      Object.entries(gone).filter(([table, rows]) => rows > 0 && !table.startsWith('event')),
    );
    expect(erased).toEqual(erasedRows);
    expect(Object.keys(erased)).toEqual(
      expect.arrayContaining(['threads', 'messages', 'responses', 'items', 'notifications', 'sessions']),
    );
    const left = await holding(tenantId, id);
    expect(left.filter((name) => !stays.includes(name))).toEqual([]);
    expect(await danglingKeys(engine.admin)).toEqual([]);
    expect(await checksumWithout(engine.admin, tenantId)).toEqual(others);
  });

  it('goes on where it was stopped and ends as one that was not; a repeat finds nothing', async () => {
    const straight = await filled(120);
    const stopped = await filled(120);
    for (const { tenantId, id } of [straight, stopped]) {
      await gather(tenantId, id);
      await markDeleted(tenantId, id);
      await hideOwn(purge, { tenantId, principalId: id });
    }
    expect(await eraseScope(purge, scopeOf(straight.tenantId, straight.id), always)).toBe(true);
    let attempts = 0;
    for (let isGone = false; !isGone; attempts += 1) {
      let batches = 0;
      const pass = { mayGoOn: () => (batches += 1) <= 2 + attempts, erased: () => {} };
      isGone = await eraseScope(purge, scopeOf(stopped.tenantId, stopped.id), pass);
    }
    expect(attempts).toBeGreaterThan(3);
    const counts = await countTenantRows(engine.admin, stopped.tenantId);
    expect(counts).toEqual(await countTenantRows(engine.admin, straight.tenantId));
    expect(counts).toMatchObject({ threads: 0, messages: 0, responses: 0, notifications: 0, sessions: 0 });
    const { erased } = await recordOf(stopped.tenantId, stopped.id);
    expect(erased).toEqual((await recordOf(straight.tenantId, straight.id)).erased);
    expect(await eraseScope(purge, scopeOf(stopped.tenantId, stopped.id), always)).toBe(true);
    expect(await countTenantRows(engine.admin, stopped.tenantId)).toEqual(counts);
  });

  it('hides what is its own by look-ups of the ids: it reads nothing of others', async () => {
    // Of few rows it would be as cheap to read all of them.
    const { tenantId, id } = await filled(1_500);
    await run('analyze threads, responses');
    const plans: string[] = [];
    const explaining = {
      inTenant: <T>(tenant: string, work: (em: EntityManager) => Promise<T>) =>
        purge.inTenant(tenant, async (em) => {
          const execute = async (sql: string, values: unknown[]) => {
            if (sql.includes('chosen'))
              plans.push(JSON.stringify(await em.execute(`explain ${sql}`, values)));
            return em.execute(sql, values);
          };
          return work({ execute } as unknown as EntityManager);
        }),
    };
    await hideOwn(explaining as unknown as UnitOfWork, { tenantId, principalId: id });
    expect(plans).toHaveLength(3);
    for (const plan of plans) {
      expect(plan).toMatch(/Index Cond: \(\(tenant_id = [^"]*\(id = chosen\.id\)/);
      expect(plan).not.toContain('Seq Scan');
    }
  });

  it('leaves conversations of a service account to the space', async () => {
    const { tenantId, id } = await filled(2);
    await run(`update principals set type = 'service_account' where tenant_id = $1 and id = $2`, [
      tenantId,
      id,
    ]);
    await markDeleted(tenantId, id);
    await hideOwn(purge, { tenantId, principalId: id });
    expect(await eraseScope(purge, scopeOf(tenantId, id), always)).toBe(true);
    const counts = await countTenantRows(engine.admin, tenantId);
    expect(counts).toMatchObject({ threads: 2, messages: 2, responses: 2, sessions: 1, notifications: 1 });
  });
});

describe('a column that names a principal', () => {
  it('says by its name whether its row is the principal’s own', async () => {
    const catalogue = await purge.acrossTenants(readCatalogue);
    const own = planScope(catalogue, 'principals')
      .below('principals')
      .map(({ table, pairs }) => `${table.name}.${pairs.at(-1)![0]}`);
    expect(own.toSorted()).toEqual([
      'api_keys.principal_id',
      'authorization_attempts.initiator_id',
      'authorization_attempts.owner_id',
      'credentials.owner_id',
      'data_keys.principal_id',
      'external_identities.principal_id',
      'idempotency_keys.principal_id',
      'login_transactions.principal_id',
      'mcp_connections.owner_id',
      'notifications.user_id',
      'responses.principal_id',
      'role_assignments.principal_id',
      'sessions.principal_id',
      'skill_uses.principal_id',
      'space_members.principal_id',
      'threads.created_by',
    ]);
    const { rows } = await run(
      `select c.relname || '.' || a.attname as name from pg_class c join pg_attribute a on a.attrelid = c.oid
       where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
         and a.atttypid = 'uuid'::regtype and a.attname ~ '(_by|^(principal|owner|user|actor|initiator)_id)$'
         and not exists (select from pg_constraint f where f.contype = 'f' and f.conrelid = c.oid and a.attnum = any (f.conkey))
       order by 1`,
    );
    expect(rows.map(({ name }) => name)).toEqual([
      // The log stays.
      'events.actor_id',
      'idempotency_keys.principal_id',
      // Goes with the response of the same id.
      'response_ids.principal_id',
      // Named what the person has done.
      'responses.cancelled_by',
      // Costs stay.
      'usage_ledger.principal_id',
    ]);
  });
});

/** A person and a colleague in two spaces, with conversations of each kind. */
async function twoPeople() {
  const { world } = engine;
  const { tenantId } = world;
  const other = await engine.act((ctx) => openSpace(ctx, { name: 'Harbour' }));
  const spaces = [world.spaceId, other.space.id];
  const [person, colleague] = [
    await addMember(engine.database.unitOfWork, world),
    await addMember(engine.database.unitOfWork, world),
  ];
  const as = <T>(who: { principalId: string }, spaceId: string, work: Parameters<typeof engine.act<T>>[0]) =>
    engine.act(work, { principalId: who.principalId, principalType: 'user', spaceId });
  const begin = async (who: { principalId: string }, spaceId: string) => {
    const place = { projectId: null, title: 'Mine', branchId: null, idempotency: null };
    const { message } = await as(who, spaceId, (ctx) =>
      startThread(ctx, { content: 'Hello', role: 'user', metadata: {}, ...place }),
    );
    return message.threadId;
  };
  const write = (who: { principalId: string }, spaceId: string, threadId: string) =>
    as(who, spaceId, (ctx) =>
      addMessage(ctx, {
        threadId,
        content: 'Me too',
        role: 'user',
        metadata: {},
        parentMessageId: null,
        branchId: null,
        idempotency: null,
      }),
    );
  const respond = async (
    who: { principalId: string },
    spaceId: string,
    input: Parameters<typeof requestOf>[1] = {},
  ) => {
    const responseId = newResponseId();
    const limits = { maxActivePerSpace: 1_000, retentionSeconds: 86_400 };
    await as(who, spaceId, (ctx) =>
      createResponse(ctx, { ...requestOf(world, input), spaceId }, { responseId, limits }),
    );
    return responseId;
  };
  return { tenantId, spaces, person, colleague, begin, write, respond };
}

describe('a deleted person with conversations in two spaces', () => {
  it('is cancelled, hidden and erased; what others have a part in stays', async () => {
    const { tenantId, spaces, person, colleague, begin, write, respond } = await twoPeople();
    await filled(2);
    const alone: string[] = [];
    const shared: string[] = [];
    for (const spaceId of spaces) {
      alone.push(await begin(person, spaceId));
      const began = await begin(person, spaceId);
      await write(colleague, spaceId, began);
      const joined = await begin(colleague, spaceId);
      await write(person, spaceId, joined);
      shared.push(began, joined);
    }
    const [home] = spaces as [string, string];
    const answered = await respond(person, home);
    const attempt = await engine.attempt(answered);
    await attempt.say('Twice');
    await attempt.commit();
    const continued = await respond(colleague, home, { previousResponseId: answered });
    const running = await respond(person, home);
    await (await engine.attempt(running)).say('Twice');
    const { rows: given } = await run('select item_id as id from response_context where response_id = $1', [
      continued,
    ]);
    expect(given.length).toBeGreaterThan(0);
    await run(
      `insert into notifications (tenant_id, event_id, user_id, category, event_type, title)
       select $1, uuidv7(), p, 'space', 'space.deleted', 'A space was deleted' from unnest($2::uuid[]) p`,
      [tenantId, [person.principalId, colleague.principalId]],
    );
    const elsewhere = await checksumWithout(engine.admin, tenantId);
    await engine.act((ctx) => deletePrincipal(ctx, { principalId: person.principalId }), { spaceId: null });
    expect(engine.dispatches).toContainEqual(
      expect.objectContaining({
        kind: 'start',
        workflowId: `erasure/${tenantId}/principal/${person.principalId}`,
      }),
    );
    const roles = { unitOfWork: engine.database.unitOfWork, purge };
    const principal = { tenantId, principalId: person.principalId };
    // Nothing but the deletion itself, which was just now.
    expect(await haltPrincipal(roles, principal)).toBe(1);
    const { rows: ended } = await run('select id, status from responses where id = any ($1)', [
      [running, continued],
    ]);
    expect(ended).toContainEqual({ id: running, status: 'cancelled' });
    expect(ended).toContainEqual({ id: continued, status: 'queued' });
    const { rows: cancels } = await run(
      `select workflow_id as id from outbox where tenant_id = $1 and kind = 'cancel'`,
      [tenantId],
    );
    expect(cancels).toEqual([{ id: `response/${tenantId}/${running}` }]);
    const hidden = await engine.database.unitOfWork.inTenant(tenantId, (em) =>
      em.execute('select id from responses where principal_id = ?', [person.principalId]),
    );
    expect(hidden).toEqual([]);
    // The purges leave to the erasure what its record is to count.
    const { rows: purged } = await run(
      `select thread_id from app.list_deleted_threads($1, $2, 100) where tenant_id = $1`,
      [tenantId, '00000000-0000-0000-0000-000000000000'],
    );
    expect(purged).toEqual([]);
    expect(await eraseScope(purge, scopeOf(tenantId, person.principalId), always)).toBe(true);

    const { rows: threads } = await run(
      `select id, status, (select count(*)::int from messages m where m.thread_id = t.id) as messages
       from threads t where tenant_id = $1 and id = any ($2) order by id`,
      [tenantId, [...alone, ...shared]],
    );
    expect(threads).toEqual(shared.toSorted().map((id) => ({ id, status: 'active', messages: 2 })));
    const { rows: responses } = await run('select id from responses where id = any ($1)', [
      [answered, running, continued],
    ]);
    expect(responses).toEqual([{ id: continued }]);
    const { rows: kept } = await run('select id from items where id = any ($1)', [given.map(({ id }) => id)]);
    expect(kept).toHaveLength(given.length);
    const { rows: read } = await run('select user_id as id from notifications where tenant_id = $1', [
      tenantId,
    ]);
    expect(read).toEqual([{ id: colleague.principalId }]);
    const left = await holding(tenantId, person.principalId);
    // Messages that wait for Temporal.
    const waits = ['outbox.payload', 'outbox.workflow_id'];
    expect(left.filter((name) => ![...stays, ...waits].includes(name))).toEqual([]);
    expect(left).not.toContain('responses.principal_id');
    expect(await checksumWithout(engine.admin, tenantId)).toEqual(elsewhere);
    const { rows: events } = await run(
      `select event_type as type, metadata ->> 'threads' as threads from events
       where tenant_id = $1 and resource_id = $2 and event_type like 'security.principal_%ed' order by id desc limit 2`,
      [tenantId, person.principalId],
    );
    expect(events).toEqual([
      { type: 'security.principal_erased', threads: '2' },
      { type: 'security.principal_deleted', threads: null },
    ]);
  });

  it('keeps a thread in which somebody is just writing', async () => {
    const { tenantId, spaces, person, colleague, begin } = await twoPeople();
    const [home] = spaces as [string];
    const [written, alone] = [await begin(person, home), await begin(person, home)];
    const writer = await connect(engine.database.adminUrl);
    await writer.query('begin');
    await writer.query('select from threads where id = $1 for no key update', [written]);
    const hiding = hideOwn(purge, { tenantId, principalId: person.principalId });
    await untilBlocked(writer);
    await writer.query(
      `insert into messages (tenant_id, thread_id, id, position, branch_id, role, content, created_by)
       select tenant_id, thread_id, uuidv7(), 7, branch_id, role, content, $2 from messages where thread_id = $1`,
      [written, colleague.principalId],
    );
    await writer.query('commit');
    await hiding;
    await writer.end();
    const { rows } = await run('select id, status from threads where id = any ($1)', [[written, alone]]);
    expect(rows).toHaveLength(2);
    expect(rows).toEqual(
      expect.arrayContaining([
        { id: written, status: 'active' },
        { id: alone, status: 'deleted' },
      ]),
    );
  });

  it('cancels a response that was hidden while it ran', async () => {
    const { tenantId, spaces, person, respond } = await twoPeople();
    const [home] = spaces as [string];
    const late = await respond(person, home);
    const principal = { tenantId, principalId: person.principalId };
    await hideOwn(purge, principal);
    const find = 'select status, deleted_at is not null as hidden from responses where id = $1';
    expect((await run(find, [late])).rows).toEqual([{ status: 'queued', hidden: true }]);
    expect(await haltPrincipal({ unitOfWork: engine.database.unitOfWork, purge }, principal)).toBe(0);
    expect((await run(find, [late])).rows).toEqual([{ status: 'cancelled', hidden: true }]);
  });

  it('hides a thread that a request began which was admitted before the deletion', async () => {
    const { tenantId, spaces, person } = await twoPeople();
    const [home] = spaces as [string];
    await engine.act((ctx) => deletePrincipal(ctx, { principalId: person.principalId }), { spaceId: null });
    const roles = { unitOfWork: engine.database.unitOfWork, purge };
    const principal = { tenantId, principalId: person.principalId };
    expect(await haltPrincipal(roles, principal)).toBe(1);
    const { rows: begun } = await run(
      `insert into threads (tenant_id, id, space_id, created_by) values ($1, uuidv7(), $2, $3) returning id`,
      [tenantId, home, person.principalId],
    );
    await run(`update principals set deleted_at = deleted_at - interval '15 seconds' where id = $1`, [
      person.principalId,
    ]);
    expect(await haltPrincipal(roles, principal)).toBe(0);
    const { rows } = await run('select status from threads where id = $1', [begun[0]!['id']]);
    expect(rows).toEqual([{ status: 'deleted' }]);
  });

  it('leaves an answer of somebody else what it is just being given', async () => {
    const { tenantId, spaces, person, colleague, respond } = await twoPeople();
    const [home] = spaces as [string];
    const answered = await respond(person, home);
    const attempt = await engine.attempt(answered);
    await attempt.say('Twice');
    await attempt.commit();
    const repeated = await respond(colleague, home);
    await engine.act((ctx) => deletePrincipal(ctx, { principalId: person.principalId }), { spaceId: null });
    const principal = { tenantId, principalId: person.principalId };
    await haltPrincipal({ unitOfWork: engine.database.unitOfWork, purge }, principal);
    const giver = await connect(engine.database.adminUrl);
    await giver.query('begin');
    const { rows: given } = await giver.query<{ id: string }>(
      `insert into response_context (tenant_id, response_id, position, item_id)
       select tenant_id, $2, 100 + row_number() over (), id from items where response_id = $1 returning item_id as id`,
      [answered, repeated],
    );
    const erasing = eraseScope(purge, scopeOf(tenantId, person.principalId), always).catch(
      (error: unknown) => error,
    );
    await untilBlocked(giver);
    await giver.query('commit');
    // Another attempt sees what was given meanwhile.
    expect(await erasing).toMatchObject({ code: '23503' });
    await giver.end();
    expect(await eraseScope(purge, scopeOf(tenantId, person.principalId), always)).toBe(true);
    const { rows } = await run(
      `select c.item_id as id from response_context c join items i on i.tenant_id = c.tenant_id and i.id = c.item_id
       where c.response_id = $1 and c.position > 100`,
      [repeated],
    );
    expect(rows).toHaveLength(given.length);
    expect(rows).toEqual(expect.arrayContaining(given));
    expect((await run('select id from responses where id = $1', [answered])).rows).toEqual([]);
  });

  it('is started again by the sweep when its workflow was lost', async () => {
    const { database, dispatches, world } = engine;
    await run('update erasures set ended_at = now()');
    await run('delete from outbox');
    const rootId = randomUUID();
    await run(`insert into erasures (tenant_id, root_type, root_id) values ($1, 'principal', $2)`, [
      world.tenantId,
      rootId,
    ]);
    const deps = { database: database.database, unitOfWork: database.unitOfWork, dispatches };
    const { starts } = await sweepOnce(sweeps.reconcileErasures.sweep, {
      ...deps,
      inspector: inspectorSaying('unknown_id'),
    });
    expect(starts.map(({ payload }) => payload)).toEqual([
      { tenantId: world.tenantId, rootType: 'principal', rootId },
    ]);
  });
});
