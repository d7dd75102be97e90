import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Database } from '#domain/foundation/persistence/database.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { masterKey } from '../support/stack.ts';
import { connect } from '../support/tables.ts';
import { findIsolationBreaches } from '../support/isolation-breaches.ts';
import { createWorld } from '../support/world.ts';

let database: TestDatabase;
let admin: Client;
let runtime: Client;

beforeAll(async () => {
  database = await createTestDatabase();
  admin = await connect(database.adminUrl);
  runtime = await connect(database.url);
});
afterAll(async () => {
  await Promise.all([admin?.end(), runtime?.end()]);
  await database?.drop();
});

/** Runs `work` and rolls it back. */
async function undone<T>(client: Client, work: () => Promise<T>): Promise<T> {
  await client.query('begin');
  try {
    return await work();
  } finally {
    await client.query('rollback');
  }
}

describe('every table of a tenant', () => {
  it('has every part of row-level security', async () => {
    expect(await findIsolationBreaches(admin)).toEqual([]);
  });

  const secured = `alter table t owner to app_owner; alter table t enable row level security, force row level security;
    create policy runtime on t to app_rt using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
      with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
    create policy purge on t to app_purge using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
      with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);`;
  const good = 'create table t (tenant_id uuid not null, id uuid, primary key (tenant_id, id));';

  it.each([
    ['nothing', good + secured, []],
    [
      'a nullable tenant',
      `create table t (tenant_id uuid, id uuid primary key);${secured}`,
      [
        't: tenant_id is missing or nullable',
        't: the primary key does not lead with tenant_id',
        't_pkey: unique across tenants',
      ],
    ],
    [
      'FORCE',
      `${good}${secured} alter table t no force row level security;`,
      ['t: row-level security is not forced'],
    ],
    [
      'its runtime policy',
      `${good}${secured} drop policy runtime on t;`,
      ['t: not exactly one runtime policy for every command'],
    ],
    [
      'a policy that holds',
      `${good}${secured} alter policy runtime on t using (true or tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);`,
      ['t: the runtime policy lets other tenants pass'],
    ],
    [
      'a second policy',
      `${good}${secured} create policy more on t to app_rt using (true);`,
      ['t: not exactly one runtime policy for every command'],
    ],
    [
      'a tenant in its foreign key',
      `${good}${secured} alter table t add unique (tenant_id, id), add other uuid, add foreign key (other, tenant_id) references principals (id, tenant_id);`,
      ['t_other_tenant_id_fkey: does not lead with tenant_id', 't_other_tenant_id_fkey: no index'],
    ],
    [
      'an index on its foreign key',
      `${good}${secured} alter table t add s uuid, add constraint link foreign key (tenant_id, s) references spaces;`,
      ['link: no index'],
    ],
  ])('is reported by name with the missing part: %s', async (_what, ddl, breaches) => {
    const found = await undone(admin, async () => {
      await admin.query(ddl);
      return findIsolationBreaches(admin);
    });
    expect(found).toEqual(breaches);
  });
});

describe('the cross-tenant functions', () => {
  it('are exactly these functions, with a pinned search path and an owner that cannot log in', async () => {
    const { rows } = await admin.query(
      `select p.oid::regprocedure::text as routine, pg_get_userbyid(p.proowner) as owner, p.proconfig as config,
         array(select distinct pg_get_userbyid(a.grantee) from aclexplode(p.proacl) a
               where a.grantee <> p.proowner order by 1)::text[] as grantees
       from pg_proc p where p.pronamespace = 'app'::regnamespace and p.prosecdef order by 1`,
    );
    const path = ['search_path=pg_catalog, public, pg_temp'];
    const system = { owner: 'app_system', config: path, grantees: ['app_purge', 'app_rt'] };
    expect(rows).toEqual([
      {
        routine: 'app.add_event_month(timestamp with time zone)',
        owner: 'app_owner',
        config: [...path, 'TimeZone=UTC'],
        grantees: [],
      },
      {
        routine: 'app.add_stream_day(date)',
        owner: 'app_owner',
        config: [...path, 'TimeZone=UTC'],
        grantees: [],
      },
      {
        routine: 'app.add_vector_graph(uuid,integer,integer)',
        owner: 'app_owner',
        config: [...path, 'lock_timeout=1s', 'max_parallel_maintenance_workers=0'],
        grantees: ['app_rt'],
      },
      { routine: 'app.claim_outbox(integer)', ...system },
      {
        routine: 'app.claim_outbox_in_turn(integer,text[],integer)',
        ...system,
        config: [...path, 'enable_seqscan=off', 'enable_hashjoin=off', 'enable_mergejoin=off', 'jit=off'],
      },
      {
        routine: 'app.count_lexemes(uuid[],text[],integer)',
        ...system,
        config: [...path, 'enable_seqscan=off', 'jit=off'],
      },
      { routine: 'app.count_outbox_mentions(uuid,text[])', ...system, grantees: ['app_verifier'] },
      {
        routine: 'app.drop_event_months(timestamp with time zone)',
        owner: 'app_owner',
        config: [...path, 'TimeZone=UTC'],
        grantees: ['app_purge'],
      },
      {
        routine: 'app.drop_stream_day()',
        owner: 'app_owner',
        config: [...path, 'TimeZone=UTC'],
        grantees: [],
      },
      {
        routine: 'app.drop_vector_graph(text)',
        owner: 'app_owner',
        config: path,
        grantees: ['app_purge'],
      },
      {
        routine: 'app.empty_lone_partition(text)',
        owner: 'app_owner',
        config: path,
        grantees: ['app_purge'],
      },
      { routine: 'app.find_authorization_attempt(text,text)', ...system },
      { routine: 'app.find_credential(text)', ...system },
      { routine: 'app.find_deletion(uuid)', ...system },
      { routine: 'app.find_identity_provider(uuid,uuid,text)', ...system },
      { routine: 'app.find_login_provider(uuid,text,uuid,text)', ...system },
      { routine: 'app.find_login_transaction(text,text)', ...system },
      { routine: 'app.find_token(text)', ...system },
      { routine: 'app.has_unfinished(timestamp with time zone)', ...system, grantees: ['app_owner'] },
      { routine: 'app.last_expiry()', ...system, grantees: ['app_owner'] },
      { routine: 'app.last_log_position()', ...system },
      { routine: 'app.list_aged_rows(text,text,interval,timestamp with time zone,integer)', ...system },
      { routine: 'app.list_chains(uuid,integer)', ...system },
      { routine: 'app.list_deleted_threads(uuid,uuid,integer)', ...system },
      { routine: 'app.list_due_attempts(uuid,uuid,integer)', ...system },
      { routine: 'app.list_due_invites(uuid,uuid,integer)', ...system },
      { routine: 'app.list_ended_connections(uuid,uuid,integer)', ...system },
      { routine: 'app.list_ended_generations(uuid,uuid,integer)', ...system },
      { routine: 'app.list_event_tenants(timestamp with time zone)', ...system },
      { routine: 'app.list_expired(timestamp with time zone,text,integer)', ...system },
      { routine: 'app.list_language_changes(uuid,uuid,integer)', ...system },
      { routine: 'app.list_lost_calls(uuid,text,integer)', ...system },
      { routine: 'app.list_open_deletions(uuid,uuid,integer)', ...system },
      { routine: 'app.list_open_erasures(uuid,uuid,integer)', ...system },
      { routine: 'app.list_orphans(uuid,text,integer)', ...system },
      { routine: 'app.list_overdue_connectors(uuid,uuid,integer)', ...system },
      { routine: 'app.list_released_objects(uuid,text,integer)', ...system },
      { routine: 'app.list_stale(timestamp with time zone,text,integer)', ...system },
      { routine: 'app.list_stale_chunks(uuid,uuid,integer)', ...system },
      { routine: 'app.list_tenants(uuid,integer)', ...system },
      { routine: 'app.list_unembedded_spaces(uuid,uuid,integer)', ...system },
      { routine: 'app.list_unfinished_fan_outs(timestamp with time zone,uuid,integer)', ...system },
      { routine: 'app.list_unmeasured_collections(uuid,uuid,integer)', ...system },
      { routine: 'app.list_unprocessed(uuid,uuid,integer)', ...system },
      { routine: 'app.list_unsealed()', ...system },
      { routine: 'app.list_unused_vector_graphs()', ...system },
      {
        routine: 'app.maintain_partitions()',
        owner: 'app_owner',
        config: [...path, 'TimeZone=UTC'],
        grantees: ['app_purge'],
      },
      { routine: 'app.outbox_age_seconds()', ...system },
      { routine: 'app.outbox_age_seconds(text[])', ...system },
      {
        routine:
          'app.rank_passages(uuid[],text[],double precision[],integer,double precision,uuid[],integer)',
        ...system,
      },
      {
        routine:
          'app.rank_passages_of_language(regconfig,uuid[],text[],double precision[],integer,double precision,uuid[],uuid[],text[],integer)',
        ...system,
        config: [...path, 'enable_seqscan=off', 'jit=off'],
      },
      {
        routine:
          'app.rank_readable_passages(uuid[],text[],double precision[],integer,double precision,uuid[],uuid[],text[],integer)',
        ...system,
      },
      { routine: 'app.sealing_lag()', ...system },
    ]);
  });

  it('read only what these policies and column grants show', async () => {
    const policies = await admin.query(
      `select polrelid::regclass::text as name, polcmd as command from pg_policy
       where 'app_system'::regrole = any (polroles) order by 1`,
    );
    expect(policies.rows.map(({ name, command }) => `${name} ${command}`)).toEqual([
      'api_keys r',
      'app.tenant_deletions r',
      'authorization_attempts r',
      'authorization_clients r',
      'chunks r',
      'collections r',
      'connectors r',
      'documents r',
      'embedding_generations r',
      'erasures r',
      'event_chains r',
      'event_dedupe r',
      'events r',
      'fan_outs r',
      'idempotency_keys r',
      'identity_providers r',
      'invites r',
      'items r',
      'language_changes r',
      'login_transactions r',
      'mcp_connections r',
      'mcp_servers r',
      'notifications r',
      'notified_periods r',
      'outbox *',
      'principals r',
      'response_context r',
      'response_ids r',
      'responses r',
      'session_tokens r',
      'sessions r',
      'stored_objects r',
      'sync_runs r',
      'tenants r',
      'threads r',
      'tool_calls r',
      'used_id_tokens r',
    ]);
    const { rows } = await admin.query(
      `select c.relname as name, array_agg(a.attname::text order by a.attname) as columns from pg_class c
       join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
       where c.relnamespace = 'public'::regnamespace and c.relname in ('api_keys', 'authorization_attempts', 'authorization_clients', 'chunks', 'collections', 'connectors', 'documents', 'embedding_generations', 'event_chains', 'event_dedupe', 'events', 'fan_outs', 'idempotency_keys', 'identity_providers', 'invites', 'items', 'language_changes', 'login_transactions', 'mcp_connections', 'mcp_servers', 'notifications', 'notified_periods', 'principals', 'response_context', 'response_ids', 'responses', 'session_tokens', 'sessions', 'stored_objects', 'sync_runs', 'tenants', 'threads', 'tool_calls', 'used_id_tokens')
         and has_column_privilege('app_system', c.oid, a.attnum, 'select') group by 1 order by 1`,
    );
    expect(rows).toEqual([
      {
        name: 'api_keys',
        columns: [
          'expires_at',
          'id',
          'key_id',
          'permissions',
          'principal_id',
          'revoked_at',
          'secret_hash',
          'tenant_id',
        ],
      },
      {
        name: 'authorization_attempts',
        columns: ['expires_at', 'id', 'nonce_hash', 'stage', 'state_hash', 'tenant_id'],
      },
      { name: 'authorization_clients', columns: ['created_at', 'tenant_id'] },
      {
        name: 'chunks',
        columns: ['collection_id', 'config', 'document_id', 'generation', 'position', 'tenant_id', 'tsv'],
      },
      {
        name: 'collections',
        columns: ['chunk_count', 'deleted_at', 'id', 'lexeme_chunks', 'space_id', 'tenant_id'],
      },
      { name: 'connectors', columns: ['due_at', 'id', 'tenant_id'] },
      {
        name: 'documents',
        columns: [
          'collection_id',
          'created_at',
          'embedding_pending',
          'generation',
          'id',
          'source_readers',
          'stale_since',
          'status',
          'tenant_id',
        ],
      },
      {
        name: 'embedding_generations',
        columns: [
          'ended_at',
          'graph',
          'graph_retry_at',
          'graphed_at',
          'id',
          'partitioned_at',
          'space_id',
          'state',
          'tenant_id',
        ],
      },
      {
        name: 'event_chains',
        columns: ['cleared_to', 'last_event_id', 'last_transaction_id', 'retained_from', 'tenant_id'],
      },
      { name: 'event_dedupe', columns: ['created_at', 'tenant_id'] },
      { name: 'events', columns: ['id', 'tenant_id', 'transaction_id'] },
      { name: 'fan_outs', columns: ['created_at', 'event_id', 'event_type', 'tenant_id'] },
      { name: 'idempotency_keys', columns: ['expires_at', 'principal_id', 'tenant_id'] },
      { name: 'identity_providers', columns: ['id', 'sessions_ended_at', 'slug', 'status', 'tenant_id'] },
      { name: 'invites', columns: ['expires_at', 'id', 'status', 'tenant_id'] },
      { name: 'items', columns: ['id', 'response_id', 'tenant_id'] },
      { name: 'language_changes', columns: ['tenant_id'] },
      {
        name: 'login_transactions',
        columns: ['expires_at', 'handle_hash', 'id', 'nonce_hash', 'state_hash', 'tenant_id'],
      },
      {
        name: 'mcp_connections',
        columns: ['connector_id', 'id', 'owner_id', 'revoke_at', 'server_id', 'tenant_id', 'withdrawn_at'],
      },
      { name: 'mcp_servers', columns: ['connection_mode', 'id', 'tenant_id'] },
      { name: 'notifications', columns: ['created_at', 'tenant_id'] },
      { name: 'notified_periods', columns: ['created_at', 'tenant_id'] },
      {
        name: 'principals',
        columns: ['deleted_at', 'email', 'id', 'name', 'sealed_email', 'sealed_name', 'status', 'tenant_id'],
      },
      { name: 'response_context', columns: ['item_id', 'tenant_id'] },
      { name: 'response_ids', columns: ['expires_at', 'id', 'tenant_id'] },
      {
        name: 'responses',
        columns: [
          'created_at',
          'deadline_at',
          'deleted_at',
          'expires_at',
          'finished_at',
          'id',
          'principal_id',
          'queued_since',
          'started_at',
          'status',
          'tenant_id',
          'waits_for',
        ],
      },
      {
        name: 'session_tokens',
        columns: ['expires_at', 'id', 'kind', 'session_id', 'tenant_id', 'token_hash'],
      },
      {
        name: 'sessions',
        columns: ['created_at', 'ended_at', 'expires_at', 'id', 'principal_id', 'provider_id', 'tenant_id'],
      },
      { name: 'stored_objects', columns: ['key', 'purge_after', 'tenant_id'] },
      { name: 'sync_runs', columns: ['created_at', 'tenant_id'] },
      { name: 'tenants', columns: ['created_at', 'is_platform', 'name', 'slug', 'status', 'tenant_id'] },
      { name: 'threads', columns: ['created_by', 'id', 'status', 'tenant_id'] },
      { name: 'tool_calls', columns: ['response_id', 'status', 'tenant_id'] },
      { name: 'used_id_tokens', columns: ['expires_at', 'tenant_id'] },
    ]);
  });

  it('are the only functions that do not run as their caller', async () => {
    const { rows } = await admin.query<{ name: string; owner: string }>(
      `select p.proname as name, pg_get_userbyid(p.proowner) as owner from pg_proc p
       where p.pronamespace = 'app'::regnamespace and not p.prosecdef order by 1`,
    );
    expect(rows.map(({ name }) => name)).toEqual([
      'add_builtin_embedding_model',
      'add_due_month',
      'append_stream',
      'begin_deleting',
      'begin_language_change',
      'coalesce_fan_out',
      'count_active',
      'count_chunks',
      'count_events',
      'count_running',
      'cover_window',
      'drop_messages_of_deleted',
      'drop_stale_names',
      'erase_batch',
      'erase_partition',
      'event_months',
      'first_id',
      'floor_to',
      'has_vector_graph',
      'hold_call',
      'is_fleeting',
      'is_lone_partition',
      'is_session_open',
      'join_event_months',
      'join_vector_graph',
      'lexeme_key',
      'lexeme_keys',
      'list_events',
      'log_beginning',
      'log_position',
      'nearest_in_vector_graph',
      'note_batch',
      'note_erased',
      'note_key_use',
      'open_event_months',
      'postpone_outbox',
      'raise_generation',
      'read_access',
      'read_admission',
      'read_call',
      'read_event',
      'read_head',
      'read_lane',
      'read_request',
      'read_responses',
      'read_streams',
      'read_turn',
      'read_unfinished',
      'record_event',
      'record_events',
      'refresh_lexeme_stats',
      'refuse_change',
      'release_content',
      'remove_outbox',
      'require_tenant',
      'store_inline_content',
      'stream_days',
      'sum_usage',
      'take_due_sweeps',
      'take_tokens',
      'tell_key_change',
      'vector_extension_schema',
      'vector_graph_name',
      'write_response',
    ]);
  });
});

describe('the roles', () => {
  it('are ordinary, own nothing that they use, and are granted to no other role', async () => {
    const { rows } = await admin.query(
      `select r.rolname as role, r.rolcanlogin as login, r.rolsuper or r.rolbypassrls or r.rolcreaterole or r.rolcreatedb as mighty,
         exists (select from pg_class c where c.relowner = r.oid) as owns,
         exists (select from pg_auth_members m where m.member = r.oid) as member
       from pg_roles r where r.rolname like 'app\\_%' order by 1`,
    );
    const plain = { mighty: false, member: false };
    expect(rows).toEqual([
      { role: 'app_owner', login: false, owns: true, ...plain },
      { role: 'app_purge', login: true, owns: false, ...plain },
      { role: 'app_rt', login: true, owns: false, ...plain },
      { role: 'app_system', login: false, owns: false, ...plain },
      { role: 'app_verifier', login: true, owns: false, ...plain },
    ]);
  });

  it.each(['events', 'events_past', 'events_future', 'model_prices', 'event_dedupe', 'response_context'])(
    'cannot change or delete a row of %s as app_rt',
    async (table) => {
      await createWorld(database.unitOfWork);
      const refused = expect.objectContaining({ code: '42501' });
      await expect(runtime.query(`update ${table} set tenant_id = tenant_id`)).rejects.toEqual(refused);
      await expect(runtime.query(`delete from ${table}`)).rejects.toEqual(refused);
    },
  );

  it('cannot rewrite the log even as the superuser, nor as app_purge', async () => {
    const { tenantId } = await createWorld(database.unitOfWork);
    await expect(admin.query('update events set actor_id = null')).rejects.toThrow(
      /events\w* is append-only/,
    );
    await expect(admin.query('delete from events')).rejects.toThrow(/events\w* is append-only/);
    const purge = await connect(database.purgeUrl);
    await purge.query(`select set_config('app.tenant_id', $1, false)`, [tenantId]);
    await expect(purge.query('update events set actor_id = null')).rejects.toThrow(
      /events\w* is append-only/,
    );
    await purge.end();
  });

  it('let app_rt see and write nothing without a tenant', async () => {
    const { tenantId } = await createWorld(database.unitOfWork);
    expect((await runtime.query('select from spaces')).rowCount).toBe(0);
    await expect(
      runtime.query(`insert into spaces (tenant_id, id, name) values ($1, gen_random_uuid(), 'x')`, [
        tenantId,
      ]),
    ).rejects.toThrow('row-level security');
  });
});

describe('a process', () => {
  it.each([
    ['gateway', 'api/main.ts'],
    ['worker', 'temporal/worker.ts'],
  ])('of the %s refuses to start on a login that bypasses row-level security', async (_role, entry) => {
    const child = spawn(process.execPath, ['--disable-warning=FSTDEP023', entry], {
      cwd: new URL('../../', import.meta.url),
      env: {
        PATH: process.env.PATH,
        DATABASE_URL: database.adminUrl,
        DATABASE_PURGE_URL: database.purgeUrl,
        TEMPORAL_ADDRESS: '127.0.0.1:1',
        MASTER_KEY: masterKey,
        PORT: '0',
        WORKER_PORT: '0',
      },
    });
    const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
    expect(said).toContain('The database login must be app_rt');
    expect(code).toBe(1);
  });

  it('starts on app_rt', async () => {
    const hot = new Database({ url: database.url, statementTimeoutMs: 1_000 });
    await expect(hot.assertRestrictedRole()).resolves.toBeUndefined();
    await hot.close();
  });
});
