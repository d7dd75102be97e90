import { readFileSync, rmSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findTemporal, temporalCache } from '../../bin/launcher/find-temporal.ts';
import { newPlace, Started, type Place } from '../launcher/started.ts';
import { claimPort } from '../support/free-port.ts';
import { Shell } from './shell.ts';

interface Step {
  commands: string;
  /** Their output on the page, shortened. */
  shown: string;
}

/** The walkthroughs of docs/operating.md, pasted into one shell beside a platform that `npm start` brought up. */
const page = readFileSync(new URL('../../docs/operating.md', import.meta.url), 'utf8');
const [, section = ''] = /^## What is it doing, .+\n([^]+?)^## /m.exec(page) ?? [];
const [preparation, ...walkthroughs] = section
  .split(/^### /m)
  .map((part) => ({ title: part.slice(0, part.indexOf('\n')), steps: stepsOf(part) }));

let place: Place | undefined;
let platform: Started;
let shell: Shell;
/** Text of the page, and its replacement here. */
let here: Record<string, string>;

beforeAll(async () => {
  await findTemporal({ cacheDir: temporalCache(process.env), env: process.env });
  place = await newPlace();
  const provider = String(await claimPort());
  const { PORT, WORKER_PORT } = place.ports;
  here = {
    '8080': `${PORT}`,
    '8081': `${WORKER_PORT}`,
    '9009': provider,
    '.data/': `${place.dataDirectory}/`,
  };
  const env = { ...place.env, EGRESS_ALLOW: `http://127.0.0.1:${provider}` };
  platform = await new Started(env, { script: 'bin/start.mjs' }).ready();
  shell = new Shell(env);
  await shell.run(pasted(preparation!.steps[0]!.commands));
}, 600_000);
afterAll(async () => {
  await shell?.end();
  await platform?.stop();
  if (place) rmSync(place.dataDirectory, { recursive: true, force: true });
});

test('the page has the four of them', () => {
  expect(walkthroughs.map(({ title }) => title)).toEqual([
    'A stuck provider',
    'A revoked key',
    'A killed worker',
    'A poisoned document',
  ]);
});

test.each(walkthroughs)(
  '$title prints what the page shows',
  async ({ steps }) => {
    for (const { commands, shown } of steps) {
      const printed = linesOf(await shell.run(pasted(commands)));
      // Shortened: the page may omit lines, but no other line may be missing here or come in another order.
      let from = 0;
      for (const line of linesOf(shown)) {
        const at = printed.indexOf(line, from);
        expect(at, `${line}\n is missing in\n${printed.join('\n')}`).toBeGreaterThanOrEqual(0);
        from = at + 1;
      }
    }
  },
  240_000,
);

function stepsOf(part: string): Step[] {
  const steps: Step[] = [];
  for (const [, language, text = ''] of part.matchAll(/^```(sh|text)\n([^]+?)^```/gm))
    if (language === 'sh') steps.push({ commands: text, shown: '' });
    else steps.at(-1)!.shown = text;
  return steps;
}

function pasted(commands: string): string {
  return commands.replaceAll(/8080|8081|9009|\.data\//g, (there) => here[there]!);
}

/**
 * Lines without the parts that vary from run to run: times, ids, the width of columns, whether a step has a
 * worker.
 */
function linesOf(output: string): string[] {
  return output
    .split('\n')
    .map((line) =>
      line
        .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
        .replaceAll(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g, '<id>')
        .replaceAll(/\b(?:(?:resp|call)_)?[\da-z]{16,32}\b/g, '<id>')
        .replaceAll(/\s+/g, ' ')
        .replace(/ (scheduled|started) (?=\d)/, ' <state> ')
        .trim(),
    )
    .filter((line) => line !== '');
}
