import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { openWorld } from '#test/support/knowledge-world.ts';
import { prepareTemplate } from '#test/support/test-servers.ts';
import { startPostgres } from '../bin/launcher/postgres.ts';
import { cachedEmbedders } from './knowledge/cached-embedders.ts';
import { collectionSources } from './knowledge/collection-sources.ts';
import { fetchCollection } from './knowledge/fetch-collection.ts';
import { loadCollection } from './knowledge/load.ts';
import { measureQuality, type Quality } from './knowledge/quality.ts';
import { judgeQuality, qualityTable } from './knowledge/quality-report.ts';
import { toTable } from './support/report.ts';

/**
 * How well the search finds what public test collections say is relevant: nDCG@10 of the keyword search, of the one
 * before it, of vectors, and of both. `npm run bench:knowledge -- --collections Medline,XQuAD --questions 30` is a
 * short form. Files and vectors are cached below XDG_CACHE_HOME.
 */
const { values } = parseArgs({
  options: {
    /** Names, separated by commas. */
    collections: { type: 'string' },
    /** Max questions of a collection, at equal distances. */
    questions: { type: 'string', default: '250' },
    /** Max characters of a passage; omitted: as ingestion cuts. */
    'chunk-size': { type: 'string' },
    /** Also writes the results there, for programs. */
    json: { type: 'string' },
  },
});
const startedAt = performance.now();
const say = (line: string) =>
  void process.stderr.write(`${Math.round((performance.now() - startedAt) / 1_000)} s  ${line}\n`);
const cache = join(
  process.env['XDG_CACHE_HOME'] || join(process.env['HOME'] || homedir(), '.cache'),
  'platform',
  'knowledge',
);
const wanted = values.collections?.split(',');
const chunkSize = values['chunk-size'] === undefined ? undefined : Number(values['chunk-size']);

const folder = mkdtempSync(join(tmpdir(), 'platform-knowledge-'));
const postgres = await startPostgres({
  dataDir: join(folder, 'postgres'),
  log: () => undefined,
  // Only loading is faster by this: nothing must outlive the run.
  settings: { fsync: 'off', synchronous_commit: 'off' },
});
const found: Quality[] = [];
try {
  const embedders = await cachedEmbedders(join(cache, 'vectors'));
  const world = await openWorld({ server: await prepareTemplate(postgres.adminUrl) });
  for (const source of collectionSources) {
    if (wanted !== undefined && !wanted.includes(source.name)) continue;
    const collection = await fetchCollection(source, cache);
    if (collection === null) {
      say(`${source.name} is out of reach and left out`);
      continue;
    }
    say(`${source.name}: ${collection.documents.length} documents (${source.licence})`);
    const loaded = await loadCollection(world, collection, embedders, chunkSize);
    say(`${source.name}: ${loaded.passages} passages`);
    found.push(await measureQuality(world, loaded, collection, { embedders, max: Number(values.questions) }));
  }
  await world.stop();
} finally {
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
}
console.log(qualityTable(found));
const verdicts = judgeQuality(found);
console.log(`\n${toTable(verdicts)}`);
if (values.json !== undefined) writeFileSync(values.json, JSON.stringify({ found, verdicts }, null, 2));
process.exitCode = verdicts.every(({ met }) => met) ? 0 : 1;
