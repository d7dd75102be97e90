import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { Client } from 'pg';
import { fillSources, type FilledSource } from './sync/filled-sources.ts';
import { startListingServer } from './sync/listing-server.ts';
import { measureSync } from './sync/measure-sync.ts';
import { full, quick } from './sync/sync-scale.ts';
import { openLab } from './support/lab.ts';
import { judge, summaryOf, toTable } from './support/report.ts';

/**
 * Connectors of an S3 bucket, a git repository and a folder, beside `COPY` of what they store and beside another tenant.
 * Nothing is embedded. `npm run bench:sync -- --documents 2000` is a short form.
 */
const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    /** Of each source; a multiple of 100. */
    documents: { type: 'string' },
    /** Bytes of a document. */
    bytes: { type: 'string' },
    /** Objects of a listing that nothing is fetched of. */
    listed: { type: 'string' },
    /** Also writes the lines there, for programs. */
    json: { type: 'string' },
    /** Our processes leave a profile of their processor time in this folder. */
    profiles: { type: 'string' },
  },
});
const base = values.quick ? quick : full;
const scale = {
  documents: Number(values.documents ?? base.documents),
  bytes: Number(values.bytes ?? base.bytes),
  listed: Number(values.listed ?? base.listed),
};
if (!(scale.documents > 0) || scale.documents % 100 !== 0)
  throw new Error('--documents must be a multiple of 100.');
const startedAt = performance.now();
const say = (line: string) =>
  void process.stderr.write(`${Math.round((performance.now() - startedAt) / 1_000)} s  ${line}\n`);

const sources = await fillSources(scale);
say(`${scale.documents} documents of ${scale.bytes} bytes in each source`);
const listed = await startListingServer(scale.listed);
try {
  const lab = await openLab({
    toolRounds: [0],
    pacedTokens: 1,
    readers: 0,
    // One whose documents are synchronised and one for the copies of each source, and one for runs beside responses.
    others: 2 * sources.length + 1,
    knowledge: false,
    // A folder without a model: nothing is embedded.
    env: { EMBEDDING_MODEL_PATH: import.meta.dirname, CONNECTOR_ROOTS: rootsOf(sources) },
    origins: [...sources.flatMap(({ server }) => server.allowedOrigins), listed.origin],
    ...(values.profiles === undefined ? {} : { profiles: values.profiles }),
  });
  const admin = new Client({ connectionString: lab.postgres.adminUrl });
  // The server may be stopped while this is open, after a failure.
  admin.on('error', () => undefined);
  try {
    await admin.connect();
    const verdicts = (await measureSync({ site: { lab, admin }, sources, listed, scale, say })).map(judge);
    console.log(toTable(verdicts));
    console.log(`\n${summaryOf(verdicts, { startedAt, quick: values.quick })}`);
    if (values.json !== undefined) writeFileSync(values.json, JSON.stringify(verdicts, null, 2));
  } finally {
    await admin.end().catch(() => undefined);
    await lab.stop();
  }
} finally {
  await Promise.all([listed.stop(), ...sources.map(({ server }) => server.close())]);
}

/** As the setting has them. */
function rootsOf(all: readonly FilledSource[]): string {
  return all
    .flatMap(({ server }) => Object.entries(server.roots))
    .map(([name, folder]) => `${name}=${folder}`)
    .join(',');
}
