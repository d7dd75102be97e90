import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EntityManager } from '@mikro-orm/postgresql';
import { planRun } from '#domain/knowledge/connectors/plan-run.ts';
import { knownDocuments, type KnownDocument } from '#domain/knowledge/synchronisation/known-documents.ts';
import type { Outcome } from '#domain/knowledge/synchronisation/outcome.ts';
import { storeBatch } from '#domain/knowledge/synchronisation/store-batch.ts';
import { matchKeywords } from '#domain/knowledge/search/match-keywords.ts';
import { openWorld, type KnowledgeWorld } from '#test/support/knowledge-world.ts';
import { ConnectorSpace, testProviders } from '#test/support/sources/connector-space.ts';
import { MemorySource, memoryProvider } from '#test/support/sources/memory-source.ts';

/** PostgreSQL takes a tenant that its statistics have not seen to have one row, however many it has stored since. */
let world: KnowledgeWorld;
let later: Filled;

beforeAll(async () => {
  world = await openWorld();
  const tables = ['stored_objects', 'stored_parts', 'documents', 'chunks', 'source_documents', 'collections'];
  for (const table of tables)
    await world.admin.query(`alter table ${table} set (autovacuum_enabled = false)`);
  await fill('known', 200);
  await world.admin.query('analyze');
  later = await fill('later', 1);
  await multiply(later, 20_000);
});
afterAll(() => world.stop());

type Filled = Awaited<ReturnType<typeof fill>>;

async function fill(name: string, documents: number) {
  const sources = testProviders([memoryProvider(new Map([[name, new MemorySource()]]))]);
  const space = await ConnectorSpace.create(world, sources, {
    providerSlug: 'memory',
    scopeConfig: { name },
  });
  const { tenantId, connectorId } = space.ids;
  const { id: runId } = await space.request();
  await world.unitOfWork.inTenant(tenantId, (em) => planRun(em, connectorId));
  const inTenant = <T>(work: (em: EntityManager) => Promise<T>) => world.unitOfWork.inTenant(tenantId, work);
  const store = async (outcomes: readonly Outcome[]) => {
    const run = await world.admin.query<{ listing: number }>('select listing from sync_runs where id = $1', [
      runId,
    ]);
    const batch = { runId, pages: 0, listing: run.rows[0]!.listing, outcomes, end: null };
    return inTenant((em) => rowsRead(em, () => storeBatch(em, batch)));
  };
  for (let n = 0; n < documents; n += 100)
    await store(numbers(n, Math.min(100, documents)).map((each) => added(each)));
  return { tenantId, connectorId, collectionId: space.collectionId, runId, inTenant, store };
}

/** Documents `d0` and on, as the first one is stored: enough of them that reading all costs more than looking some up. */
async function multiply({ tenantId, connectorId, collectionId }: Filled, documents: number): Promise<void> {
  const { admin } = world;
  const ids = [tenantId, documents];
  await admin.query(
    `insert into stored_objects (tenant_id, key, sha256, byte_size)
     select $1, 'documents/' || n, 'hash' || n, 9 from generate_series(1, $2 - 1) n`,
    ids,
  );
  await admin.query(
    `insert into documents (tenant_id, id, collection_id, filename, media_type, status, content_key, content_hash,
       byte_size, chunk_count, generation, metadata, created_by)
     select $1, uuidv7(), d.collection_id, 'd' || n || '.md', d.media_type, d.status, 'documents/' || n, 'hash' || n,
       9, 1, 1, d.metadata, d.created_by
     from documents d, generate_series(1, $2 - 1) n where d.tenant_id = $1 and d.collection_id = $3`,
    [...ids, collectionId],
  );
  await admin.query(
    `insert into chunks (tenant_id, document_id, generation, position, collection_id, text, start_offset, end_offset, config)
     select tenant_id, id, 1, 0, collection_id, 'word of ' || filename, 0, 9, 'english' from documents
     where tenant_id = $1 and content_key <> all (select content_key from documents where filename = 'd0.md')`,
    [tenantId],
  );
  await admin.query(
    `insert into source_documents (tenant_id, id, connector_id, ref, document_id, name, version, content_hash, byte_size, state, listing)
     select d.tenant_id, uuidv7(), $2, left(d.filename, -3), d.id, d.filename, '1', d.content_hash, 9, 'stored', r.listing
     from documents d join sync_runs r on r.tenant_id = d.tenant_id
     where d.tenant_id = $1 and d.filename <> 'd0.md'`,
    [tenantId, connectorId],
  );
}

const numbers = (first: number, count: number) => Array.from({ length: count }, (_, n) => first + n);

const listed = (n: number) => ({
  ref: `d${n}`,
  name: `d${n}.md`,
  url: null,
  version: '1',
  byteSize: 9,
  mediaType: null,
});

const read = (n: number, text = `word${n}`) => ({
  content: Buffer.from(text),
  contentHash: text.padEnd(64, '0'),
  mediaType: 'text/plain' as const,
  chunks: [{ heading: null, text, start: 0, end: text.length, page: null, anchor: null }],
});

const added = (n: number, known: KnownDocument | null = null, text?: string): Outcome => ({
  is: 'stored',
  listed: listed(n),
  known,
  version: '1',
  read: read(n, text),
});

/** Rows that `work` reads of the tables that a run stores in, the checks of their foreign keys included. */
async function rowsRead(em: EntityManager, work: () => Promise<unknown>): Promise<number> {
  const count = async () => {
    const [row] = await em.execute<{ n: number }[]>(
      `select sum(idx_tup_fetch + seq_tup_read)::int4 as n from pg_stat_xact_user_tables
       where relname in ('stored_objects', 'documents', 'chunks', 'source_documents')`,
    );
    return row?.n ?? 0;
  };
  const before = await count();
  await work();
  return (await count()) - before;
}

/** Begins a listing in which the documents are found again. @returns what is known of them, by reference */
async function knownInNextListing(documents: readonly number[]): Promise<Map<string, KnownDocument>> {
  await world.admin.query('update sync_runs set listing = listing + 1 where id = $1', [later.runId]);
  const connector = { tenantId: later.tenantId, id: later.connectorId };
  const refs = documents.map((n) => `d${n}`);
  return later.inTenant((em) => knownDocuments(em, connector, refs));
}

describe('a run of a tenant that the statistics of PostgreSQL do not know', () => {
  it('looks the references of a page up one by one', async () => {
    const refs = numbers(19_995, 10).map((n) => `d${n}`);
    const connector = { tenantId: later.tenantId, id: later.connectorId };
    let found = 0;
    const rows = await later.inTenant((em) =>
      rowsRead(em, async () => (found = (await knownDocuments(em, connector, refs)).size)),
    );
    expect(found).toBe(5);
    expect(rows).toBe(5);
  });

  it('stores new documents without reading those that it has stored', async () => {
    const rows = await later.store(numbers(20_000, 10).map((n) => added(n)));
    // Checks of foreign keys: one of an object, four of a document.
    expect(rows).toBeLessThan(10 * 10);
  });

  it('replaces documents without reading the others', async () => {
    const changed = numbers(100, 10);
    const known = await knownInNextListing(changed);
    const rows = await later.store(
      changed.map((n) => added(n, known.get(`d${n}`) ?? null, `changed word${n}`)),
    );
    expect(rows).toBeLessThan(30 * 10);
  });

  it('marks documents, and renames them, without reading the others', async () => {
    const seen = numbers(200, 10);
    const known = await knownInNextListing(seen);
    const rows = await later.store(
      seen.map((n) => ({
        is: 'unchanged',
        listed: n % 2 === 0 ? listed(n) : { ...listed(n), name: `renamed${n}.md` },
        known: known.get(`d${n}`)!,
        version: '1',
      })),
    );
    expect(rows).toBeLessThan(10 * 10);
  });

  it('has the frequencies of its words counted from a sample, one look-up for each passage of it', async () => {
    const { admin } = world;
    await admin.query('begin');
    try {
      await admin.query('set local role app_rt');
      await admin.query(`select set_config('app.tenant_id', $1, true)`, [later.tenantId]);
      await admin.query(`update collections set lexeme_chunks = 0, chunk_count = chunk_count where id = $1`, [
        later.collectionId,
      ]);
      const { rows } = await admin.query<{ n: string }>(
        `select idx_tup_fetch + seq_tup_read as n from pg_stat_xact_user_tables where relname = 'chunks'`,
      );
      expect(Number(rows[0]!.n)).toBeLessThan(2 * 4_096);
    } finally {
      await admin.query('rollback');
    }
    const { rows } = await admin.query<{ n: string }>('select count(*)::int4 as n from lexeme_stats');
    expect(rows).toEqual([{ n: 0 }]);
  });
});

describe('a search of a tenant that the statistics of PostgreSQL do not know', () => {
  const matched = (em: EntityManager, question: string) =>
    matchKeywords(em, {
      tenantId: later.tenantId,
      collectionIds: [later.collectionId],
      question,
      filter: {},
      reading: null,
      limit: 20,
    });

  it('ranks the passages with a word without comparing each with each', async () => {
    // In every passage: a comparison of each with each takes a minute, and is cancelled before.
    expect(await later.inTenant((em) => matched(em, 'word'))).toHaveLength(20);
  });

  it('reads the documents of the passages with a rare word, and no others', async () => {
    const rare = numbers(300, 5);
    const known = await knownInNextListing(rare);
    await later.store(rare.map((n) => added(n, known.get(`d${n}`) ?? null, `rarity of ${n}`)));
    let found = 0;
    const rows = await later.inTenant((em) =>
      rowsRead(em, async () => (found = (await matched(em, 'rarity')).length)),
    );
    expect(found).toBe(5);
    expect(rows).toBeLessThan(10 * 5);
  });
});
