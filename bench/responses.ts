import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { measureFirstToken } from './sections/first-token.ts';
import { measureGet } from './sections/get-response.ts';
import { measureIdleStreams } from './sections/idle-streams.ts';
import { measureThroughput } from './sections/throughput.ts';
import { measureTokenDelay } from './sections/token-delay.ts';
import { busy } from './support/caller.ts';
import { openLab, type Lab } from './support/lab.ts';
import { judge, summaryOf, toTable, type Line, type Verdict } from './support/report.ts';
import { full, quick, type Scale } from './support/scale.ts';

type Section = (lab: Lab, scale: Scale, say: (line: string) => void) => Promise<Line[]>;

const sections: Record<string, Section> = {
  throughput: measureThroughput,
  'first-token': measureFirstToken,
  'token-delay': measureTokenDelay,
  get: measureGet,
  'idle-streams': measureIdleStreams,
};

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    /** Comma-separated; all without it. */
    only: { type: 'string', default: Object.keys(sections).join(',') },
    /** Also writes the lines there, for programs. */
    json: { type: 'string' },
    /** Our processes leave a profile of their processor time in this folder. */
    profiles: { type: 'string' },
  },
});

const names = values.only.split(',');
const unknown = names.find((name) => !Object.hasOwn(sections, name));
if (unknown !== undefined)
  throw new Error(`There is no part ${unknown}: ${Object.keys(sections).join(', ')}`);
// In the order above, regardless of the order of the arguments: the last part stops the worker.
const wanted = Object.entries(sections).filter(([name]) => names.includes(name));
const say = (line: string) => void process.stderr.write(`${line}\n`);
const scale = values.quick ? quick : full;
const startedAt = performance.now();
const lab = await openLab({
  toolRounds: scale.toolRounds,
  pacedTokens: scale.tokens,
  readers: scale.readers,
  ...(values.profiles === undefined ? {} : { profiles: values.profiles }),
});
const verdicts: Verdict[] = [];
try {
  for (const [name, section] of wanted) {
    say(`— ${name}`);
    verdicts.push(...(await section(lab, scale, say)).map(judge));
  }
} finally {
  await lab.stop();
}
console.log(toTable(verdicts));
console.log(`\n${summaryOf(verdicts, { startedAt, quick: values.quick })}`);
if (busy.count > 0)
  console.log(
    `${busy.count} requests were answered 503 and repeated: the machine was too busy to measure by`,
  );
if (values.json !== undefined) writeFileSync(values.json, JSON.stringify(verdicts, null, 2));
