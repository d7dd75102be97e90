import { MikroORM, type EntityManager } from '@mikro-orm/postgresql';
import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Context } from '#domain/foundation/access/context.ts';
import { permissions } from '#domain/foundation/access/permissions.ts';
import { listCollections } from '#domain/knowledge/collections/list-collections.ts';
import { listDocuments } from '#domain/knowledge/collections/list-documents.ts';
import { readDocument } from '#domain/knowledge/collections/read-document.ts';
import { searchKnowledge } from '#domain/knowledge/search/search-knowledge.ts';
import { findKey } from '#domain/foundation/idempotency/idempotency.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { allEntities } from '#domain/operations/schema/all-entities.ts';
import { createOrm, ormConfig } from '#domain/operations/schema/orm.ts';
import { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { listAllowedModels } from '#domain/capabilities/models/list-allowed-models.ts';
import { listInputItems } from '#domain/responses/read/list-input-items.ts';
import { pageInputItems } from '#domain/responses/read/page-input-items.ts';
import { listResponses } from '#domain/responses/read/list-responses.ts';
import type { Space } from '#domain/workspace/spaces/space.entity.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { sealAll } from '../support/event-log.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { createPlaces, Maker, type Place } from '../support/places.ts';
import { SignInMaker } from '../support/sign-in-fixtures.ts';
import { connect } from '../support/tables.ts';
import { addMember, secrets, type World } from '../support/world.ts';

let database: TestDatabase;
let gateway: TestGateway;
/** The ORM as in production, but without its tenant filter. */
let unfiltered: MikroORM;
let world: World;
let here: Place;
let abroad: Place;
let theirs: { collection: string; document: string; response: string; principal: string };

beforeAll(async () => {
  database = await createTestDatabase();
  gateway = await openGateway(database);
  ({ world, here, abroad } = await createPlaces(database));
  const maker = new Maker(() => gateway);
  const collection = await maker.collection(abroad);
  const document = await maker.document(abroad, collection);
  const response = await maker.response(abroad, { 'idempotency-key': 'theirs' });
  await maker.ended(abroad);
  await maker.admin.projectMember(abroad, await maker.admin.project(abroad));
  await maker.admin.invite(abroad);
  await new SignInMaker(maker).session(abroad);
  const admin = await connect(database.adminUrl);
  const { rows } = await admin.query('select principal_id from responses where id = $1', [response]);
  const server = (await maker.server(abroad)).id;
  const path = `/v1/spaces/${abroad.spaceId}`;
  const send = (method: string, rest: string, body: object) =>
    maker.send({ method, path: `${path}/${rest}`, apiKey: abroad.apiKey, body });
  await send('PUT', 'governance', { pii: { mode: 'redact' } });
  await send('POST', 'threads/messages', { content: 'Write to harbour@example.org.' });
  await maker.observability(abroad);
  await maker.credential(abroad);
  const skill = await maker.publishedSkill(abroad);
  await admin.query(
    `insert into skill_uses (tenant_id, skill_id, principal_id) select tenant_id, $1, principal_id from responses where id = $2`,
    [skill, response],
  );
  await sealEverybody(admin);
  await leaveTraces(abroad.tenantId, { collection, document, response, server });
  await admin.end();
  theirs = { collection, document, response, principal: rows[0].principal_id as string };
  const { filters: _, ...config } = ormConfig({ url: database.url, statementTimeoutMs: 5_000 });
  unfiltered = new MikroORM(config);
});
afterAll(async () => {
  await unfiltered?.close(true);
  await gateway?.close();
  await database?.drop();
});

async function sealEverybody(admin: Client): Promise<void> {
  const orm = createOrm({ url: database.purgeUrl, statementTimeoutMs: 5_000 });
  await sealAll(admin, { purge: new UnitOfWork(orm), secrets });
  await orm.close(true);
}

/** Rows that only a run creates: passages, turns, attempts, calls and usage. */
async function leaveTraces(
  tenantId: string,
  {
    collection,
    document,
    response,
    server,
  }: Record<'collection' | 'document' | 'response' | 'server', string>,
): Promise<void> {
  const admin = await connect(database.adminUrl);
  const run = (text: string, values: unknown[]) => admin.query(text, values);
  await run(
    `insert into chunks (tenant_id, document_id, position, collection_id, text, start_offset, end_offset, config)
    values ($1, $2, 0, $3, 'The beacon is blue.', 0, 19, 'english')`,
    [tenantId, document, collection],
  );
  await run('update documents set generation = 1, chunk_count = 1 where id = $1', [document]);
  await run(
    `insert into erasures (tenant_id, root_type, root_id, ended_at) values ($1, 'collection', gen_random_uuid(), now())`,
    [tenantId],
  );
  await run(
    `insert into app.tenant_deletions (tenant_id, id, status, reason_code, prior_status, requested_by, purge_after, token_hash, ended_at)
     values ($1, gen_random_uuid(), 'cancelled', 'other', 'active', gen_random_uuid(), now(), '', now())`,
    [tenantId],
  );
  await run(
    `with made as (
       insert into embedding_generations (tenant_id, id, space_id, model_id, state, mean)
       select c.tenant_id, gen_random_uuid(), c.space_id, m.id, 'active', ''
       from collections c join embedding_models m on m.tenant_id = c.tenant_id where c.id = $1
       returning tenant_id, id, space_id, model_id),
     used as (
       insert into embedding_usage (tenant_id, id, space_id, model_id, purpose, input_tokens, cost_pico_usd)
       select tenant_id, gen_random_uuid(), space_id, model_id, 'query', 1, 0 from made),
     scanned as (
       insert into chunk_vectors (tenant_id, embedding_id, collection_id, document_id, generation, position, bits)
       select m.tenant_id, m.id, $1, d.document_id, d.generation, d.position, b'1'
       from made m join chunks d on d.document_id = $2)
     insert into chunk_embeddings (tenant_id, embedding_id, document_id, generation, position, text_hash, vector)
     select m.tenant_id, m.id, d.document_id, d.generation, d.position, 'h', 'v'
     from made m join chunks d on d.document_id = $2`,
    [collection, document],
  );
  await run(
    `insert into language_changes (tenant_id, collection_id, former, chunks_total)
     select tenant_id, id, '{simple}', 1 from collections where id = $1`,
    [collection],
  );
  await run(
    `with made as (
       insert into reranking_models (tenant_id, id, alias, provider_kind, provider_model, max_tokens, score_scale)
       values ($1, gen_random_uuid(), 'judge', 'jina', 'j', 512, 'probability') returning tenant_id, id),
     chosen as (
       insert into space_reranking (tenant_id, space_id, model_id)
       select m.tenant_id, c.space_id, m.id from made m join collections c on c.id = $2 returning tenant_id, space_id, model_id)
     insert into reranking_usage (tenant_id, id, space_id, model_id, passages, input_tokens, searches, cost_pico_usd)
     select tenant_id, gen_random_uuid(), space_id, model_id, 1, 1, 1, 0 from chosen`,
    [tenantId, collection],
  );
  await run(
    `insert into lexeme_stats (tenant_id, collection_id, lexeme, df)
     select tenant_id, id, 'beacon', 1 from collections where id = $1 on conflict do nothing`,
    [collection],
  );
  await run(
    `with made as (
       insert into connectors (tenant_id, id, space_id, collection_id, provider_slug, principal_id, scope_config)
       select c.tenant_id, gen_random_uuid(), c.space_id, c.id, 'rss', c.created_by, '{}' from collections c where c.id = $1
       returning tenant_id, id),
     ran as (
       insert into sync_runs (tenant_id, id, connector_id, trigger, mode)
       select tenant_id, gen_random_uuid(), id, 'manual', 'full' from made),
     listed as (
       insert into source_documents (tenant_id, id, connector_id, ref, name, state, listing)
       select tenant_id, gen_random_uuid(), id, 'r', 'n', 'skipped', 1 from made),
     asked as (
       insert into source_hosts (tenant_id, host, next_at) select tenant_id, 'h:443', now() from made)
     insert into source_group_members (tenant_id, connector_id, group_id, address, listing)
     select tenant_id, id, 'g', 'a@b.example', 1 from made`,
    [collection],
  );
  await run(
    'insert into turns (tenant_id, response_id, iteration, first_n, first_output_index) values ($1, $2, 0, 1, 0)',
    [tenantId, response],
  );
  await run(
    'insert into turn_attempts (tenant_id, response_id, iteration, attempt, epoch, first_n) values ($1, $2, 0, 1, 1, 1)',
    [tenantId, response],
  );
  await run(
    `insert into tool_calls (tenant_id, response_id, iteration, call_index, call_id, item_id, output_index, tool, arguments, idempotency_key)
    values ($1, $2, 0, 0, 'c', 'i', 0, 'knowledge_search', '{}', 'k')`,
    [tenantId, response],
  );
  await run(
    `insert into mcp_tools (tenant_id, server_id, name, exposed_name, description, input_schema, schema_hash)
    values ($1, $2, 'find', 'mcp__s__find', 'Finds.', '{}', 'h')`,
    [tenantId, server],
  );
  await run(
    `with registered as (
       insert into authorization_clients (tenant_id, id, issuer, redirect_uri, kind, client_id)
       values ($1, gen_random_uuid(), 'https://i.example', 'https://r.example', 'dynamic', 'c')
       returning tenant_id, id),
     begun as (
       insert into authorization_attempts (tenant_id, id, server_id, space_id, initiator_id, redirect_uri, callback_uri,
         issuer, target, nonce_hash, expires_at)
       select s.tenant_id, gen_random_uuid(), s.id, s.space_id, s.created_by, 'r', 'c', 'i', '{}', 'n', now()
       from mcp_servers s where s.id = $2)
     insert into mcp_connections (tenant_id, id, server_id, space_id, connected_by, client_id, status, issuer, target)
     select s.tenant_id, gen_random_uuid(), s.id, s.space_id, s.created_by, r.id, 'connected', 'i', '{}'
     from mcp_servers s, registered r where s.id = $2`,
    [tenantId, server],
  );
  await run(
    `insert into usage_ledger (tenant_id, response_id, iteration, attempt, space_id, principal_id, model_id, price_id, output_tokens, settled)
    select r.tenant_id, r.id, 0, 1, r.space_id, r.principal_id, r.model_id, p.id, 7, true
    from responses r join model_prices p on p.tenant_id = r.tenant_id and p.model_id = r.model_id where r.id = $1`,
    [response],
  );
  await run(
    `insert into external_identities (tenant_id, provider_id, subject, principal_id)
    select tenant_id, provider_id, 'sub', principal_id from sessions where tenant_id = $1`,
    [tenantId],
  );
  await run(
    `insert into login_transactions (tenant_id, id, provider_id, state_hash, nonce_hash, cookie_hash, proof, expires_at)
    select tenant_id, gen_random_uuid(), provider_id, 's', 'n', 'c', 'p', now() from sessions where tenant_id = $1`,
    [tenantId],
  );
  await run(`insert into used_id_tokens (tenant_id, claims_hash, expires_at) values ($1, 'c', now())`, [
    tenantId,
  ]);
  await run(
    `insert into notifications (tenant_id, event_id, user_id, category, event_type, title)
    select r.tenant_id, uuidv7(), r.principal_id, 'space', 'space.deleted', 'A space was deleted' from responses r where r.id = $1`,
    [response],
  );
  await run(`insert into notified_periods (tenant_id, key) values ($1, 'k')`, [tenantId]);
  await run(
    'insert into rate_buckets (tenant_id, tokens, filled_at) values ($1, 1, now()) on conflict do nothing',
    [tenantId],
  );
  await run(`insert into data_keys (tenant_id, id, wrapped) values ($1, gen_random_uuid(), 'w')`, [tenantId]);
  await run(`insert into roles (tenant_id, id, key, name) values ($1, $2, 'mine', 'Mine')`, [
    tenantId,
    newId(),
  ]);
  await admin.end();
  const other = { ...world, tenantId, owner: { ...world.owner, tenantId }, spaceId: abroad.spaceId };
  await addMember(database.unitOfWork, other, { tenantRoles: ['member'] });
}

/** A caller of this tenant with every permission, in another tenant's space. */
function allowAll(em: EntityManager): Context {
  return {
    em,
    secrets,
    enqueue: () => Promise.resolve(),
    caller: {
      tenantId: here.tenantId,
      principalId: theirs.principal,
      apiKeyId: null,
      keyPermissions: null,
      origin: { via: 'api', requestId: null },
      principalType: 'user',
      isPlatform: false,
      spaceId: abroad.spaceId,
      isMember: true,
      granted: new Set(permissions),
    },
  };
}

const tenantOf = (tenant: { id: string }) => tenant.id;

/** Rows of others that each kind of read returns within this tenant. */
async function readEverything(): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  const inTenant = <T>(work: (em: EntityManager) => Promise<T>): Promise<T> =>
    unfiltered.em
      .fork({ session: { variables: { 'app.tenant_id': here.tenantId } } })
      .transactional((em) => work(em as EntityManager));
  for (const entity of allEntities) {
    const rows = await inTenant((em) => em.find(entity as typeof Space, {}));
    found[entity.name] = rows.filter(
      (row) => ('tenantId' in row ? row.tenantId : tenantOf(row)) !== here.tenantId,
    ).length;
  }
  const tables = await inTenant((em) =>
    em.execute<{ name: string }[]>(
      `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
         and relname <> 'mikro_orm_migrations' and not relispartition`,
    ),
  );
  for (const { name } of tables) {
    const [row] = await inTenant((em) =>
      em.execute<{ n: number }[]>(`select count(*)::int as n from "${name}" where tenant_id <> ?`, [
        here.tenantId,
      ]),
    );
    found[`table ${name}`] = row!.n;
  }
  const { collection, document, response } = theirs;
  const page = { limit: 10, cursor: null };
  const uses: Record<string, (ctx: Context) => Promise<unknown>> = {
    listCollections: async (ctx) => (await listCollections(ctx, page)).items,
    listDocuments: async (ctx) => (await listDocuments(ctx, { ...page, collectionId: collection })).items,
    readDocument: (ctx) => readDocument(ctx, { collectionId: collection, documentId: document }),
    listResponses: async (ctx) =>
      (await listResponses(ctx, { ...page, spaceId: abroad.spaceId, status: null })).items,
    listInputItems: async (ctx) => (await listInputItems(ctx, { ...page, responseId: response })).items,
    pageInputItems: async (ctx) =>
      (await pageInputItems(ctx, { responseId: response, limit: 10, order: 'asc', after: null })).items,
    listAllowedModels: (ctx) => listAllowedModels(ctx, { spaceId: abroad.spaceId }),
    searchKnowledge: async ({ caller: { principalId }, em }) => {
      const inTransaction = <T>(work: (em: EntityManager) => Promise<T>) => work(em);
      const access = { principalId, inTransaction, signal: new AbortController().signal };
      const query = { spaceId: abroad.spaceId, collectionIds: null, query: 'beacon', limit: 5, alpha: 0.5 };
      return (await searchKnowledge(access, query)).passages;
    },
    findKey: (ctx) =>
      findKey(ctx, { key: 'theirs', scope: `POST /v1/spaces/${abroad.spaceId}/responses`, fingerprint: '' }),
  };
  for (const [name, use] of Object.entries(uses)) {
    found[name] = await inTenant((em) => use(allowAll(em))).then(countOf, () => 0);
  }
  const hot: [string, string, unknown[]][] = [
    [
      'read_access',
      'select app.read_access($1, $2, $3) as found',
      [here.tenantId, theirs.principal, abroad.spaceId],
    ],
    [
      'read_responses',
      'select coalesce(record, head::text) as found from app.read_responses($1, $2, $3, $4, $5)',
      [[here.tenantId], [theirs.principal], [abroad.spaceId], [response], [false]],
    ],
    ['read_unfinished', 'select head as found from app.read_unfinished($1, $2)', [here.tenantId, response]],
    [
      'read_streams',
      'select events as found from app.read_streams($1, $2, $3, 10)',
      [[here.tenantId], [response], [-1]],
    ],
    ['read_request', 'select app.read_request($1, $2) as found', [here.tenantId, response]],
    ['read_turn', 'select head as found from app.read_turn($1, $2, 0)', [here.tenantId, response]],
    ['read_call', 'select head as found from app.read_call($1, $2, 0, 0)', [here.tenantId, response]],
    ['read_lane', 'select epoch as found from app.read_lane($1, $2)', [here.tenantId, response]],
  ];
  for (const [name, text, values] of hot) {
    const rows = await database.database.call<{ found: unknown }>(name, text, values);
    found[name] = rows.filter((row) => row.found !== null).length;
  }
  return found;
}

function countOf(result: unknown): number {
  return Array.isArray(result) ? result.length : result === null ? 0 : 1;
}

const seen = (found: Record<string, number>) =>
  Object.keys(found)
    .filter((name) => found[name]! > 0)
    .sort();

describe('with every check of ours replaced by a check that allows all', () => {
  it('row-level security alone shows no row of another tenant', async () => {
    const [role] = await database.database.call<{ role: string }>('who', 'select current_user as role', []);
    expect(role).toEqual({ role: 'app_rt' });
    const found = await readEverything();
    expect(Object.keys(found).length).toBeGreaterThan(40);
    expect(seen(found)).toEqual([]);
  });

  it('and without its policies the same reads would show them all', async () => {
    const admin = await connect(database.adminUrl);
    await admin.query(`do $$ declare t regclass; begin
      for t in select c.oid from pg_class c where c.relnamespace in ('public'::regnamespace, 'app'::regnamespace) and c.relkind in ('r', 'p') and c.relrowsecurity loop
        execute format('alter table %s disable row level security, no force row level security', t);
      end loop; end $$`);
    await admin.end();
    const found = await readEverything();
    const alwaysEmpty = Object.keys(found).filter((name) => found[name] === 0);
    // These also name the tenant in their own conditions: a second check beside the policy.
    expect(alwaysEmpty.sort()).toEqual([
      'findKey',
      'read_access',
      'read_call',
      'read_lane',
      'read_request',
      'read_responses',
      'read_streams',
      'read_turn',
      'read_unfinished',
      'searchKnowledge',
    ]);
  });
});
