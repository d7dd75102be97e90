import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { measureFanOut, measureKilled, type FanOutScale } from './sections/fan-out.ts';
import { openLab } from './support/lab.ts';
import { judge, summaryOf, toTable } from './support/report.ts';

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    /** Also writes the lines there, for programs. */
    json: { type: 'string' },
  },
});

const scale: FanOutScale = values.quick
  ? { recipients: [500, 3_000], jobs: 300, rounds: 1 }
  : { recipients: [10_000, 100_000], jobs: 10_000, rounds: 8 };
const say = (line: string) => void process.stderr.write(`${line}\n`);
const startedAt = performance.now();
const lab = await openLab({ toolRounds: [0], pacedTokens: 1, readers: 1 });
try {
  const verdicts = (await measureFanOut(lab, scale, say)).map(judge);
  const killed = await measureKilled(lab, scale);
  console.log(toTable(verdicts));
  console.log(`\n${killed}`);
  console.log(summaryOf(verdicts, { startedAt, quick: values.quick }));
  if (values.json !== undefined) writeFileSync(values.json, JSON.stringify({ verdicts, killed }, null, 2));
} finally {
  await lab.stop();
}
