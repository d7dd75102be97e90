import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { deleteDocument } from '#domain/knowledge/collections/delete-document.ts';
import { bytesToFloats } from '#domain/knowledge/embeddings/quantise.ts';
import { VectorLists } from '#domain/knowledge/embeddings/vector-lists.ts';
import { EmbeddingSpace } from '#test/support/embedding-space.ts';
import { openWorld, type KnowledgeWorld } from '#test/support/knowledge-world.ts';
import { CountingUnitOfWork, type RowsRead } from '#test/support/rows-read.ts';
import { wordEmbedders } from '#test/support/word-embedders.ts';

const documents = 200;
const perDocument = 100;
const lists = 512;
const tables = ['documents', 'chunks', 'chunk_embeddings', 'chunk_vectors'];
const embedders = wordEmbedders();
let world: KnowledgeWorld;
let counting: CountingUnitOfWork;

beforeEach(async () => {
  world = await openWorld({ unitOfWorkOf: ({ orm }) => (counting = new CountingUnitOfWork(orm)) });
  // The first checks of a foreign key on each connection are planned with their values.
  await world.admin.query(
    `alter role app_rt in database ${world.database.name} set plan_cache_mode = 'force_generic_plan'`,
  );
  // The statistics are those of the test.
  for (const table of tables)
    await world.admin.query(`alter table ${table} set (autovacuum_enabled = false)`);
});
afterEach(() => world.stop());

/** A space with 20,000 passages, those of `texts` many texts again and again. */
async function fill(texts: number): Promise<EmbeddingSpace> {
  const space = await EmbeddingSpace.create(world, embedders);
  await space.add('The beacon is blue.');
  const [generation] = await space.generations();
  await world.admin.query('set session_replication_role = replica');
  await world.admin.query(
    `with documents as (
       insert into documents (tenant_id, id, collection_id, filename, media_type, status, content_hash, byte_size,
         chunk_count, created_by, generation, embedded_count)
       select $1, gen_random_uuid(), $2, 'a.md', 'text/markdown', 'ready', '', 1, $5::int, $3, 1, $5 from generate_series(1, $6) returning id),
     given as materialized (
       select id, p, n::text as heading, 'Passage ' || n as text
       from (select id, row_number() over () - 1 as d from documents) numbered, generate_series(0, $5 - 1) p,
         lateral (select (d * $5 + p) % $7::int as n) texts),
     passages as (
       insert into chunks (tenant_id, document_id, generation, position, collection_id, heading, text, start_offset, end_offset, config)
       select $1, id, 1, p, $2, heading, text, 0, 1, 'english' from given),
     stored as (
       insert into chunk_embeddings (tenant_id, embedding_id, document_id, generation, position, text_hash, vector)
       select $1, $4, id, 1, p, sha256(convert_to(heading || E'\\n' || text, 'UTF8')), decode(repeat('01', 396), 'hex') from given)
     insert into chunk_vectors (tenant_id, embedding_id, collection_id, document_id, generation, position, bits)
     select $1, $4, $2, id, 1, p, repeat('10', 192)::bit varying from given`,
    [
      space.fixture.tenantId,
      space.collectionId,
      space.fixture.principalId,
      generation?.id,
      perDocument,
      documents,
      texts,
    ],
  );
  await world.admin.query('set session_replication_role = origin');
  return space;
}

/** Divides the vectors of the space into lists, as if they were many. */
async function divide(space: EmbeddingSpace): Promise<void> {
  const { rows } = await world.admin.query<{ id: string; mean: Buffer }>(
    `select id, mean from embedding_generations where space_id = $1 and state = 'active'`,
    [space.fixture.spaceId],
  );
  const { id, mean } = rows[0]!;
  const dims = mean.length / 4;
  const centroids = Float32Array.from({ length: lists * dims }, (_, n) => Math.sin(n));
  await world.admin.query(
    'update embedding_generations set list_count = $2, centroids = $3, partitioned_at = now() where id = $1',
    [id, lists, new VectorLists(centroids, dims).toBytes(bytesToFloats(mean))],
  );
  await world.admin.query(
    'update chunk_vectors set list = 1 + (hashtext(document_id::text || position) & $2) where embedding_id = $1',
    [id, lists - 1],
  );
  await world.admin.query('update collections set chunk_count = 400000 where id = $1', [space.collectionId]);
}

/** Vectors of other tenants, which have few each. */
async function fillOthers(tenants: number, each: number): Promise<void> {
  await world.admin.query('set session_replication_role = replica');
  await world.admin.query(
    `insert into chunk_vectors (tenant_id, embedding_id, collection_id, document_id, generation, position, bits)
     select t, t, t, t, 1, p, repeat('10', 192)::bit varying
     from (select gen_random_uuid() as t from generate_series(1, $1::int)) tenants, generate_series(1, $2::int) p`,
    [tenants, each],
  );
  await world.admin.query('set session_replication_role = origin');
}

const analyse = () => world.admin.query(`analyze ${tables.join(', ')}`);

/** Of 80 passages; every second may be in the space already. */
const text = Array.from(
  { length: 80 },
  (_, n) => `# ${n}\n\n${n % 2 === 0 ? 'Passage' : 'Sentence'} ${n}`,
).join('\n\n');

async function readBy(work: () => Promise<unknown>): Promise<RowsRead> {
  counting.take();
  await work();
  return counting.take();
}

function expectAtMost(limits: RowsRead, read: RowsRead): void {
  for (const [table, limit] of Object.entries(limits)) {
    expect(read[table] ?? 0, `${table} of ${JSON.stringify(read)}`).toBeLessThanOrEqual(limit);
  }
}

/** The vectors of 32 lists. */
const listed = (documents * perDocument * 32) / lists + 500;

describe.each<[string, number, () => Promise<EmbeddingSpace>]>([
  ['without statistics', 40, () => fill(500)],
  [
    'with statistics that do not know the tenant',
    40,
    async () => {
      await fill(20_000);
      await analyse();
      return fill(20_000);
    },
  ],
  [
    'of passages that are nearly all alike',
    78,
    async () => {
      const space = await fill(3);
      await analyse();
      return space;
    },
  ],
])('a space of 20,000 passages, %s', (_, unknown, made) => {
  it('a document is read, embedded and deleted by looking up its own, and a search by its candidates', async () => {
    const space = await made();
    const documentId = await space.upload(text);
    embedders.passages.length = 0;
    const own = { chunks: 2_000, chunk_embeddings: 2_000, chunk_vectors: 2_000 };
    expectAtMost(own, await readBy(() => space.process(documentId)));
    expect(embedders.passages.length).toBe(unknown);
    const { rows } = await world.admin.query('select embedded_count from documents where id = $1', [
      documentId,
    ]);
    expect(rows).toEqual([{ embedded_count: 80 }]);
    const each = documents * perDocument + 1_000;
    // A scan of the sign bits, a sample of the vectors; a space of this size may have its passages read in one go.
    expectAtMost(
      { chunks: each, chunk_embeddings: each, chunk_vectors: each },
      await readBy(() => space.search('beacon', 0.5)),
    );
    const { collectionId } = space;
    expectAtMost(
      own,
      await readBy(() =>
        world.act(space.fixture, (ctx) => deleteDocument(ctx, { collectionId, documentId })),
      ),
    );
  });

  it('a search of lists reads those nearest to its question', async () => {
    const space = await made();
    await divide(space);
    expectAtMost({ chunk_vectors: listed }, await readBy(() => space.search('beacon')));
  });
});

describe('a space of 20,000 passages in lists, beside 400 of 50', () => {
  it('a search reads the nearest lists, and of the table nothing that a vacuum has seen', async () => {
    await fillOthers(400, 50);
    const space = await fill(500);
    await divide(space);
    await analyse();
    expectAtMost({ chunk_vectors: listed }, await readBy(() => space.search('beacon')));
    await world.admin.query('vacuum chunk_vectors');
    expectAtMost({ chunk_vectors: 100 }, await readBy(() => space.search('beacon')));
  });
});
