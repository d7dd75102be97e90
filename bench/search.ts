import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { findListsIn } from '#adapters/embeddings/find-lists.ts';
import { createVectorProcesses } from '#adapters/embeddings/vector-processes.ts';
import { createCollection } from '#domain/knowledge/collections/create-collection.ts';
import { graphGeneration } from '#domain/knowledge/embeddings/graph-generation.ts';
import { liveGenerations } from '#domain/knowledge/embeddings/live-generations.ts';
import { partitionGeneration } from '#domain/knowledge/embeddings/partition-generation.ts';
import { bytesToFloats } from '#domain/knowledge/embeddings/quantise.ts';
import { ensureLive } from '#domain/knowledge/embeddings/start-generation.ts';
import { openWorld } from '#test/support/knowledge-world.ts';
import { prepareTemplate } from '#test/support/test-servers.ts';
import { startVectorServer } from '#test/support/vector-server.ts';
import { startPostgres } from '../bin/launcher/postgres.ts';
import { cachedEmbedders } from './knowledge/cached-embedders.ts';
import { readCorpus } from './search/corpus.ts';
import { fill } from './search/fill.ts';
import { measureSearch, type Times } from './search/measure.ts';
import { percentile, sum } from './support/stats.ts';

/**
 * How long a search of many passages takes, and how many of the nearest its vector side finds, compared with exact
 * cosines: `npm run bench:search -- --passages 10000` is a short form. A million passages need 8 GB of memory and disk.
 */
const { values } = parseArgs({
  options: {
    passages: { type: 'string', default: '10000,100000,1000000' },
    questions: { type: 'string', default: '96' },
    /** Also searches 300,000 passages and more in a graph of the extension "vector", on a server that has it. */
    graph: { type: 'boolean', default: false },
    /** Also writes the results there, for programs. */
    json: { type: 'string' },
  },
});
/** Least recall at 10 and most milliseconds of the median hybrid search, by passages. */
const goals = [
  { upTo: 10_000, recall: 0.99, p50: 40 },
  { upTo: 100_000, recall: 0.96, p50: 120 },
  { upTo: Infinity, recall: 0.94, p50: 250 },
];
const startedAt = performance.now();
const say = (line: string) =>
  void process.stderr.write(`${Math.round((performance.now() - startedAt) / 1_000)} s  ${line}\n`);
const cache = join(
  process.env['XDG_CACHE_HOME'] || join(process.env['HOME'] || homedir(), '.cache'),
  'platform',
  'knowledge',
);
const signal = new AbortController().signal;
const folder = mkdtempSync(join(tmpdir(), 'platform-search-'));
// Only loading is faster by this: nothing must outlive the run.
const settings = { fsync: 'off', synchronous_commit: 'off', max_wal_size: '8GB' };
const postgres = await (values.graph ? withExtension() : plain());
const found: ReturnType<typeof rowOf>[] = [];
try {
  const embedders = await cachedEmbedders(join(cache, 'vectors'));
  const embedder = embedders.of();
  const totals = values.passages.split(',').map(Number);
  const corpus = await readCorpus(embedder, cache, {
    maxPassages: Math.max(...totals),
    maxQuestions: Number(values.questions),
  });
  say(`${corpus.passages.length} passages and ${corpus.questions.length} questions of public collections`);
  for (const total of totals) {
    const world = await openWorld({ server: postgres.server });
    const space = await world.addSpace();
    const { inTransaction } = world.access(space);
    const { collection } = await world.act(space, (ctx) => createCollection(ctx, { name: 'C' }));
    const [first] = await ensureLive({ ...space, inTransaction, embedders, signal });
    if (first === undefined) throw new Error('The tenant has no embedding model.');
    const { id: embeddingId, mean } = first.generation;
    const filling = { space, collectionId: collection.id, embeddingId, mean: bytesToFloats(mean), total };
    const filled = await fill(world.admin, corpus, filling);
    say(`${total} passages stored`);
    const partitionedFrom = performance.now();
    await partitionGeneration({
      inTransaction,
      target: first,
      findLists: findListsIn(createVectorProcesses()),
      signal,
      isOver: () => false,
    });
    const partitionSeconds = (performance.now() - partitionedFrom) / 1_000;
    await world.admin.query('vacuum analyze chunk_vectors');
    const [target] = await inTransaction((em) => liveGenerations(em, space.spaceId));
    if (target === undefined) throw new Error('The generation is gone.');
    say(`${target.generation.listCount} lists after ${partitionSeconds.toFixed(0)} s`);
    const searched = {
      ...filled,
      space,
      collectionId: collection.id,
      generation: target.generation,
      embedder,
    };
    found.push(rowOf('no', total, await measureSearch(world, corpus, searched)));
    if (values.graph && total >= 300_000) {
      await world.admin.query('create extension vector');
      const graphedFrom = performance.now();
      await graphGeneration({ inTransaction, target, signal, isOver: () => false });
      await world.admin.query('vacuum analyze chunk_vectors');
      const [graphed] = await inTransaction((em) => liveGenerations(em, space.spaceId));
      if (graphed?.generation.graphedAt == null) throw new Error('There is no graph.');
      say(`a graph after ${((performance.now() - graphedFrom) / 1_000).toFixed(0)} s`);
      const inGraph = { ...searched, generation: graphed.generation };
      found.push(rowOf('yes', total, await measureSearch(world, corpus, inGraph)));
    }
    await world.stop();
  }
} finally {
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
}
console.table(found);
if (values.json !== undefined) writeFileSync(values.json, JSON.stringify(found, null, 2));
process.exitCode = found.every(({ met }) => met) ? 0 : 1;

function rowOf(graph: 'yes' | 'no', total: number, { recalls, nearest, hybrid }: Times) {
  const goal = goals.find(({ upTo }) => total <= upTo)!;
  const recall = sum(recalls) / recalls.length;
  const p50 = percentile(hybrid, 0.5);
  return {
    passages: total,
    graph,
    'recall@10': recall.toFixed(3),
    'vectors p50, ms': percentile(nearest, 0.5).toFixed(0),
    'hybrid p50, ms': p50.toFixed(0),
    'hybrid p95, ms': percentile(hybrid, 0.95).toFixed(0),
    goal: `≥ ${goal.recall}, ≤ ${goal.p50} ms`,
    met: recall >= goal.recall && p50 <= goal.p50,
  };
}

async function plain() {
  const postgres = await startPostgres({ dataDir: join(folder, 'postgres'), log: () => undefined, settings });
  return { server: await prepareTemplate(postgres.adminUrl), stop: () => postgres.stop() };
}

async function withExtension() {
  const started = await startVectorServer({ folder, settings });
  if ('missing' in started) throw new Error(started.missing);
  return started;
}
