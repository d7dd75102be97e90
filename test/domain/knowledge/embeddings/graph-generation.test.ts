import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { graphGeneration } from '#domain/knowledge/embeddings/graph-generation.ts';
import { liveGenerations, type LiveGeneration } from '#domain/knowledge/embeddings/live-generations.ts';
import { bytesToFloats } from '#domain/knowledge/embeddings/quantise.ts';
import { nearestPassages, type NearestQuery } from '#domain/knowledge/search/nearest-passages.ts';
import type { QuestionAccess } from '#domain/knowledge/search/question-vector.ts';
import { dropVectorGraphs } from '#domain/operations/maintenance/drop-vector-graphs.ts';
import { createCollection } from '#domain/knowledge/collections/create-collection.ts';
import { uploadDocument } from '#domain/knowledge/collections/upload-document.ts';
import type { SweepDependencies } from '#domain/operations/sweep-kinds/sweep.ts';
import { createDatabase, dropDatabase } from '#test/support/database-admin.ts';
import { databaseUrl } from '#test/support/database-urls.ts';
import { EmbeddingSpace } from '#test/support/embedding-space.ts';
import { openWorld, type KnowledgeWorld } from '#test/support/knowledge-world.ts';
import { pgDump, restoreDump } from '#test/support/pg-dump.ts';
import { Purge } from '#test/support/purge.ts';
import { sweepOnce } from '#test/support/sweeps.ts';
import { connect } from '#test/support/tables.ts';
import { startVectorServer } from '#test/support/vector-server.ts';
import { wordEmbedders, wordVector } from '#test/support/word-embedders.ts';

const started = await startVectorServer();
let world: KnowledgeWorld;
let space: EmbeddingSpace;
let neighbour: EmbeddingSpace;
/** More than a search takes from a graph. */
const passages = 2_600;
const subjects = 130;

const textOf = (n: number) => {
  const subject = n % subjects;
  return `subject${subject} matter${subject} field${subject} topic${subject} part${n} piece${n % 7}`;
};
const questions = Array.from({ length: 20 }, (_, n) => `subject${n * 6} matter${n * 6} piece${n % 7}`);

beforeEach((context) => {
  if ('missing' in started) context.skip(started.missing);
});
beforeAll(async () => {
  if ('missing' in started) return;
  world = await openWorld({ server: started.server });
  space = await EmbeddingSpace.create(world, wordEmbedders());
  await space.add(Array.from({ length: passages }, (_, n) => `# ${n}\n\n${textOf(n)}\n`).join('\n'));
  neighbour = await EmbeddingSpace.create(world, wordEmbedders());
  await neighbour.add(questions.map((text, n) => `# ${n}\n\n${text}\n`).join('\n'));
  // As of spaces that have graphs.
  await world.admin.query('update collections set chunk_count = 400000');
  await world.admin.query('update embedding_generations set partitioned_at = now()');
});
afterAll(async () => {
  await world?.stop();
  if (!('missing' in started)) await started.stop();
});

const target = async (of = space): Promise<LiveGeneration> => {
  const { tenantId, spaceId } = of.fixture;
  const [found] = await world.unitOfWork.inTenant(tenantId, (em) => liveGenerations(em, spaceId));
  return found!;
};
const build = async (
  isOver: () => boolean,
  of = space,
  signal = new AbortController().signal,
  inTransaction = world.access(of.fixture).inTransaction,
) =>
  graphGeneration({
    inTransaction,
    target: await target(of),
    signal,
    isOver,
  });
const count = async (sql: string, ...params: unknown[]): Promise<number> =>
  (await world.admin.query<{ n: number }>(`select count(*)::int4 as n from ${sql}`, params)).rows[0]!.n;
const outside = async (of = space) =>
  count(
    `chunk_vectors v join embedding_generations g on g.id = v.embedding_id
     where g.space_id = $1 and v.graph <> g.graph`,
    of.fixture.spaceId,
  );
const isListed = async (of = space) =>
  (await count(
    `app.list_unembedded_spaces('00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000000', 100)
     where space_id = $1`,
    of.fixture.spaceId,
  )) === 1;
const graphs = async () => {
  const { rows } = await world.admin.query<{ indexrelname: string; idx_scan: string }>(
    `select indexrelname, idx_scan from pg_stat_user_indexes where indexrelname like 'vector_graph_%' order by 1`,
  );
  return rows;
};
const nameOf = async (of = space) =>
  `vector_graph_${(await target(of)).generation.id.replaceAll('-', '')}_${(await target(of)).generation.graph}`;

async function nearest(
  question: string,
  change: Partial<NearestQuery> = {},
  of = space,
  tenantId = of.fixture.tenantId,
) {
  const { generation, model } = await target(of);
  const { hits } = await world.unitOfWork.inTenant(tenantId, (em) =>
    nearestPassages(em, {
      tenantId: of.fixture.tenantId,
      embeddingId: generation.id,
      listCount: 0,
      graph: generation.graphedAt == null ? 0 : generation.graph,
      mean: bytesToFloats(generation.mean),
      vector: wordVector(question, model.dims, model.providerModel),
      collectionIds: [of.collectionId],
      filter: {},
      reading: null,
      passages: 150_000,
      limit: 10,
      ...change,
    }),
  );
  return hits;
}

const minutesOff = async () => {
  const { rows } = await world.admin.query<{ minutes: number }>(
    `select round(extract(epoch from graph_retry_at - now()) / 60)::int4 as minutes from embedding_generations where space_id = $1`,
    [space.fixture.spaceId],
  );
  return rows[0]!.minutes;
};
const tryAgain = () =>
  world.admin.query(`update embedding_generations set graph_retry_at = now() - interval '1 second'`);

/** Share of the passages of a scan of all vectors that a search in the graph finds. */
async function recall(): Promise<number> {
  let found = 0;
  for (const question of questions) {
    const least = (await nearest(question, { graph: 0 })).at(-1)!.cosine - 1e-6;
    found += (await nearest(question)).filter(({ cosine }) => cosine >= least).length;
  }
  return found / (10 * questions.length);
}

describe('without the extension', () => {
  it('no graph is due or begun, and a number of one changes no answer', async () => {
    expect(await isListed()).toBe(false);
    expect(await build(() => false)).toBe(true);
    expect((await target()).generation).toMatchObject({ graph: 0, graphedAt: null });
    const answer = await nearest(questions[0]!, { graph: 0 });
    expect(answer).toHaveLength(10);
    expect(await nearest(questions[0]!, { graph: 1 })).toEqual(answer);
  });
});

describe('a graph of the vectors of a large space', () => {
  it('is not waited for by those who write: a later round begins it', async () => {
    await world.admin.query('create extension vector');
    expect(await isListed()).toBe(true);
    const writer = await connect(world.database.adminUrl);
    await writer.query('begin');
    await writer.query('lock table chunk_vectors in row exclusive mode');
    expect(await build(() => false)).toBe(true);
    await writer.query('rollback');
    await writer.end();
    expect((await target()).generation.graph).toBe(0);
    expect(await isListed()).toBe(false);
    expect(await minutesOff()).toBe(10);
    await tryAgain();
    expect(await isListed()).toBe(true);
  });

  it('is put off by a day where the table takes too long to read', async () => {
    const { rows } = await world.admin.query<{ text: string }>(
      `select pg_get_functiondef('app.add_vector_graph(uuid, integer, integer)'::regprocedure) as text`,
    );
    const text = rows[0]!.text;
    await world.admin.query(text.replace(/^begin$/im, 'begin perform pg_sleep(60);'));
    try {
      expect(await build(() => false)).toBe(true);
    } finally {
      await world.admin.query(text);
    }
    expect(await minutesOff()).toBe(1_440);
    expect((await target()).generation.graph).toBe(0);
    await tryAgain();
  });

  it('is built in slices that may be interrupted, while searches find what they found', async () => {
    const interrupted = new AbortController();
    interrupted.abort();
    await expect(build(() => false, space, interrupted.signal)).rejects.toThrow();
    expect(await outside()).toBe(passages);
    expect(await build(() => true)).toBe(false);
    const left = await outside();
    expect([left > 0, left < passages]).toEqual([true, true]);
    expect((await target()).generation).toMatchObject({ graph: 1, graphedAt: null });
    expect(await recall()).toBe(1);
    // Nothing else of the space waits for a join that is in the way of others.
    const writer = await connect(world.database.adminUrl);
    await writer.query('begin');
    await writer.query('lock table chunk_vectors in share mode');
    const impatient: QuestionAccess['inTransaction'] = (work) =>
      world.access(space.fixture).inTransaction(async (em) => {
        await em.execute(`set local lock_timeout = '200ms'`);
        return work(em);
      });
    expect(await build(() => false, space, new AbortController().signal, impatient)).toBe(true);
    await writer.query('rollback');
    await writer.end();
    expect([await outside(), await minutesOff(), await isListed()]).toEqual([left, 10, false]);
    await tryAgain();
    // The session is lost in the midst of a batch.
    const rest = build(() => false);
    const lost = expect(rest).rejects.toThrow();
    await expect
      .poll(
        () =>
          count(
            `pg_stat_activity a, pg_terminate_backend(a.pid) where a.query like '%v.graph <>%' and a.state = 'active' and a.pid <> pg_backend_pid()`,
          ),
        { interval: 5, timeout: 20_000 },
      )
      .toBeGreaterThan(0);
    await lost;
    expect(await outside()).toBeGreaterThan(0);
    // Two workers at once, while another transaction has a row.
    const holder = await connect(world.database.adminUrl);
    await holder.query('begin');
    await holder.query('select from chunk_vectors where embedding_id = $1 and graph = 0 limit 1 for update', [
      (await target()).generation.id,
    ]);
    await Promise.all([build(() => false), build(() => false)]);
    expect(await outside()).toBe(1);
    expect((await target()).generation.graphedAt).toBeNull();
    await holder.query('rollback');
    await holder.end();
    expect(await build(() => false)).toBe(true);
    expect(await outside()).toBe(0);
    expect((await target()).generation.graphedAt).toBeInstanceOf(Date);
    expect(await isListed()).toBe(false);
  });

  it('is what searches take their candidates from', async () => {
    const before = (await graphs())[0]!.idx_scan;
    expect(await recall()).toBeGreaterThan(0.95);
    await expect
      .poll(async () => Number((await graphs())[0]!.idx_scan) - Number(before), { timeout: 20_000 })
      .toBeGreaterThanOrEqual(questions.length);
  });

  it('takes the vectors of new documents, and shows none of a deleted one', async () => {
    const text = `${textOf(3)} quite new`;
    const documentId = await space.add(text);
    expect(await outside()).toBe(0);
    expect((await nearest(text))[0]).toMatchObject({ documentId });
    await world.admin.query('delete from documents where id = $1', [documentId]);
    expect((await nearest(text)).map((hit) => hit.documentId)).not.toContain(documentId);
  });

  it('is left for all vectors where it has too few of the searched collections, and with a filter', async () => {
    const content = Array.from({ length: 12 }, (_, n) => `# ${n}\n\nremote${n} ${n}`).join('\n');
    const { collection, document } = await world.act(space.fixture, async (ctx) => {
      const { collection } = await createCollection(ctx, { name: 'Small' });
      const { document } = await uploadDocument(ctx, {
        collectionId: collection.id,
        filename: 'a.md',
        mediaType: 'text/markdown',
        content,
      });
      return { collection, document };
    });
    await space.process(document.id);
    expect(await outside()).toBe(0);
    const within = { collectionIds: [collection.id] };
    expect(await nearest(questions[0]!, within)).toHaveLength(10);
    expect(await nearest(questions[0]!, within)).toEqual(
      await nearest(questions[0]!, { ...within, graph: 0 }),
    );
    const setGraph = (graph: number) =>
      world.admin.query('update chunk_vectors set graph = $2 where collection_id = $1', [
        collection.id,
        graph,
      ]);
    await setGraph(0);
    expect(await nearest(questions[0]!, within)).toHaveLength(10);
    await setGraph(1);
    const filtered = {
      collectionIds: [space.collectionId, collection.id],
      filter: { createdFrom: document.createdAt },
    };
    const hits = await nearest(questions[0]!, filtered);
    expect(hits.map((hit) => hit.documentId)).toEqual(Array.from({ length: 10 }, () => document.id));
  });

  it('shows another tenant nothing, also where both have one', async () => {
    await build(() => false, neighbour);
    expect(await outside(neighbour)).toBe(0);
    expect(await graphs()).toHaveLength(2);
    for (const question of questions) {
      expect(await nearest(question, {}, space, neighbour.fixture.tenantId)).toEqual([]);
    }
    const { generation, model } = await target();
    const { bits } = (
      await world.admin.query<{ bits: string }>(
        'select bits::text from chunk_vectors where embedding_id = $1 limit 1',
        [generation.id],
      )
    ).rows[0]!;
    expect(bits).toHaveLength(model.dims);
    const inGraph = ({ fixture }: EmbeddingSpace) =>
      world.unitOfWork.inTenant(fixture.tenantId, (em) =>
        em.execute<unknown[]>(
          'select from app.nearest_in_vector_graph(?, 1, ?::uuid[], ?::bit varying, 50)',
          [generation.id, `{${space.collectionId},${neighbour.collectionId}}`, bits],
        ),
      );
    expect(await inGraph(space)).toHaveLength(50);
    expect(await inGraph(neighbour)).toEqual([]);
  });

  it('goes with the extension, and comes back with it under another number', async () => {
    await world.admin.query('drop extension vector cascade');
    expect(await graphs()).toEqual([]);
    expect(await recall()).toBe(1);
    expect(await isListed()).toBe(false);
    await world.admin.query('create schema elsewhere; grant usage on schema elsewhere to app_rt, app_owner');
    await world.admin.query('create extension vector schema elsewhere');
    expect(await isListed()).toBe(true);
    // Both find that one is to be begun.
    await Promise.all([build(() => false), build(() => false)]);
    await space.embedAll();
    expect((await target()).generation).toMatchObject({ graph: 2, graphedAt: expect.any(Date) });
    expect(await outside()).toBe(0);
    expect(await recall()).toBeGreaterThan(0.95);
  });

  it('is in a dump, and is read where that is restored', async (context) => {
    const dumped = await pgDump(world.database.adminUrl);
    if ('missing' in dumped) return context.skip(dumped.missing);
    const name = `${world.database.name}_restored`;
    await createDatabase(world.database.adminUrl, { name });
    const url = databaseUrl(world.database.adminUrl, name);
    await restoreDump(url, dumped.text);
    const restored = await connect(url);
    try {
      const { generation } = await target();
      await restored.query(`select set_config('app.tenant_id', $1, false)`, [space.fixture.tenantId]);
      const { rowCount } = await restored.query(
        `select from chunk_vectors v, app.nearest_in_vector_graph(v.embedding_id, $2, array[v.collection_id], v.bits, 50)
         where v.ctid = (select min(ctid) from chunk_vectors where embedding_id = $1 and collection_id = $3)`,
        [generation.id, generation.graph, space.collectionId],
      );
      expect(rowCount).toBe(50);
    } finally {
      await restored.end();
      await dropDatabase(world.database.adminUrl, name);
    }
  });

  it('is dropped with its generation, at the first moment when no reader is in its way', async () => {
    await build(() => false, neighbour);
    const [name, other] = [await nameOf(), await nameOf(neighbour)];
    const purge = new Purge(world.database);
    const deps: Partial<SweepDependencies> = { database: world.database.database, purge };
    try {
      expect(await dropVectorGraphs.isDue!(deps as SweepDependencies)).toBe(false);
      await world.admin.query(
        `update embedding_generations set state = 'retired', ended_at = now() where space_id = $1`,
        [space.fixture.spaceId],
      );
      expect(await dropVectorGraphs.isDue!(deps as SweepDependencies)).toBe(true);
      const reader = await connect(world.database.adminUrl);
      await reader.query('begin');
      await reader.query('select count(*) from chunk_vectors');
      const swept = sweepOnce(dropVectorGraphs, deps);
      await new Promise((resolve) => setTimeout(resolve, 300));
      expect((await graphs()).map(({ indexrelname }) => indexrelname)).toContain(name);
      await reader.end();
      expect(await swept).toMatchObject({ done: 1, failed: 0 });
      expect((await graphs()).map(({ indexrelname }) => indexrelname)).toEqual([other]);
      // Also after the rows of a tenant are gone.
      await world.admin.query('set session_replication_role = replica');
      await world.admin.query('delete from embedding_generations where tenant_id = $1', [
        neighbour.fixture.tenantId,
      ]);
      await world.admin.query('set session_replication_role = origin');
      await sweepOnce(dropVectorGraphs, deps);
      expect(await graphs()).toEqual([]);
    } finally {
      await purge.close();
    }
  });
});
