import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { realWeights } from '#test/support/builtin-weights.ts';
import { seeded } from './ingest/documents.ts';
import { full, quick } from './ingest/ingest-scale.ts';
import { measureIngest } from './ingest/rounds.ts';
import { openIngestion } from './ingest/uploads.ts';
import { buildBundle } from '../temporal/build-bundle.ts';
import { openLab } from './support/lab.ts';
import { judge, summaryOf, toTable } from './support/report.ts';

/** Documents embedded by the builtin model through a worker, beside the model alone and beside other tenants. */
const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    documents: { type: 'string' },
    rounds: { type: 'string' },
    /** Also writes the lines there, for programs. */
    json: { type: 'string' },
    /** Our processes leave a profile of their processor time in this folder. */
    profiles: { type: 'string' },
  },
});
const base = values.quick ? quick : full;
const scale = {
  documents: Number(values.documents ?? base.documents),
  rounds: Number(values.rounds ?? base.rounds),
};
const startedAt = performance.now();
const say = (line: string) => void process.stderr.write(`${line}\n`);
/** The time that a worker takes to become idle after its start. */
const stabiliseMs = 3_000;

const files = await realWeights();
if (files === null)
  throw new Error('The files of the builtin model cannot be had: run `platform models fetch`.');
const folder = mkdtempSync(join(tmpdir(), 'platform-ingest-'));
if (process.env['WORKFLOW_BUNDLE'] === undefined) {
  // What a worker needs to bundle stays in its memory, and would hide what it needs to embed.
  process.env['WORKFLOW_BUNDLE'] = join(folder, 'workflows.js');
  writeFileSync(process.env['WORKFLOW_BUNDLE'], (await buildBundle()).code);
}
const lab = await openLab({
  toolRounds: [0],
  pacedTokens: 1,
  readers: 0,
  others: 1,
  knowledge: false,
  ...(values.profiles === undefined ? {} : { profiles: values.profiles }),
});
const admin = new Client({ connectionString: lab.postgres.adminUrl });
// The server may be stopped while this is open, after a failure.
admin.on('error', () => undefined);
try {
  await admin.connect();
  const bare = await lab.addPeer({ name: 'inference', entry: 'bench/peers/inference.ts' });
  await sleep(stabiliseMs);
  const ingestion = await openIngestion({ lab, admin, world: lab.others[0]!, random: seeded(1) });
  const verdicts = (await measureIngest(ingestion, scale, { files, bare, say })).map(judge);
  console.log(toTable(verdicts));
  console.log(`\n${summaryOf(verdicts, { startedAt, quick: values.quick })}`);
  if (values.json !== undefined) writeFileSync(values.json, JSON.stringify(verdicts, null, 2));
} finally {
  await admin.end().catch(() => undefined);
  await lab.stop();
  rmSync(folder, { recursive: true, force: true });
}
