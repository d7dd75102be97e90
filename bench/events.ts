import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { measureCounting } from './events/counting.ts';
import { full, quick } from './events/event-scale.ts';
import { measureListing } from './events/listing.ts';
import { openLogLab } from './events/log-lab.ts';
import { measureWriting } from './events/writing.ts';
import { judge, summaryOf, toTable, type Line } from './support/report.ts';

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    /** Events of each log, comma-separated; the largest needs about a gigabyte of disk for a million. */
    sizes: { type: 'string' },
    /** Comma-separated: list, counts, writes; all without it. */
    only: { type: 'string', default: 'list,counts,writes' },
    rounds: { type: 'string' },
    /** Also writes the lines there, for programs. */
    json: { type: 'string' },
  },
});

const say = (line: string) => void process.stderr.write(`${line}\n`);
const parts = new Set(values.only.split(','));
const base = {
  ...(values.quick ? quick : full),
  ...(values.rounds === undefined ? {} : { rounds: Number(values.rounds) }),
};
const scale =
  values.sizes === undefined ? base : { ...base, sizes: values.sizes.split(',').map((size) => Number(size)) };
if (scale.sizes.length < 2 || !scale.sizes.every((size) => Number.isSafeInteger(size) && size >= 100)) {
  throw new Error('--sizes takes at least two numbers of events, the smallest first.');
}
const startedAt = performance.now();
const lab = await openLogLab(scale.sizes, say);
const lines: Line[] = [];
try {
  if (parts.has('list')) lines.push(...(await measureListing(lab.logs, scale, say)));
  if (parts.has('counts')) lines.push(...(await measureCounting(lab.logs, scale)));
  if (parts.has('writes')) lines.push(...(await measureWriting(lab.logs.at(-1)!, scale, say)));
} finally {
  await lab.stop();
}
const verdicts = lines.map(judge);
console.log(toTable(verdicts));
console.log(`\n${summaryOf(verdicts, { startedAt, quick: values.quick })}`);
if (values.json !== undefined) writeFileSync(values.json, JSON.stringify(verdicts, null, 2));
