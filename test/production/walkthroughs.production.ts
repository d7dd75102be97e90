import { readFileSync, rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newPlace, Started, type Place } from '../launcher/started.ts';
import { claimPort } from '../support/free-port.ts';
import { Shell } from './shell.ts';

interface Step {
  commands: string;
  /** What the page says that they print, shortened. */
  shown: string;
}

/** The walkthroughs of docs/operating.md, pasted into one shell beside a platform that `npm start` brought up. */
const page = readFileSync(new URL('../../docs/operating.md', import.meta.url), 'utf8');
const [, section = ''] = /^## What is it doing, .+\n([^]+?)^## /m.exec(page) ?? [];
const [preparation, ...walkthroughs] = section
  .split(/^### /m)
  .map((part) => ({ title: part.slice(0, part.indexOf('\n')), steps: stepsOf(part) }));

let place: Place;
let platform: Started;
let shell: Shell;
/** What stands on the page, and what stands for it here. */
let here: [string, string][];

beforeAll(async () => {
  place = await newPlace();
  const provider = String(await claimPort());
  here = [
    ['8080', String(place.ports.PORT)],
    ['8081', String(place.ports.WORKER_PORT)],
    ['9009', provider],
    ['.data/', `${place.dataDirectory}/`],
  ];
  const env = { ...place.env, EGRESS_ALLOW: `http://127.0.0.1:${provider}` };
  platform = await new Started(env, { script: 'bin/start.mjs' }).ready();
  shell = new Shell(env);
  await shell.run(pasted(preparation!.steps[0]!.commands));
});
afterAll(async () => {
  await shell?.end();
  await platform?.stop();
  rmSync(place.dataDirectory, { recursive: true, force: true });
});

test('the page has the four of them', () => {
  expect(walkthroughs.map(({ title }) => title)).toEqual([
    'A stuck provider',
    'A revoked key',
    'A killed worker',
    'A poisoned document',
  ]);
});

describe.each(walkthroughs)('$title', ({ steps }) => {
  for (const { commands, shown } of steps)
    test(commands.trim().split('\n').at(-1)!, async () => {
      const printed = linesOf(await shell.run(pasted(commands)));
      // Shortened: the page may leave lines out, and none may be missing here or come in another order.
      let from = 0;
      for (const line of linesOf(shown)) {
        const at = printed.indexOf(line, from);
        expect(at, `${line}\n is missing in\n${printed.join('\n')}`).toBeGreaterThanOrEqual(0);
        from = at + 1;
      }
    });
});

function stepsOf(part: string): Step[] {
  const steps: Step[] = [];
  for (const [, language, text = ''] of part.matchAll(/^```(sh|text)\n([^]+?)^```/gm))
    if (language === 'sh') steps.push({ commands: text, shown: '' });
    else steps.at(-1)!.shown = text;
  return steps;
}

function pasted(commands: string): string {
  return here.reduce((text, [there, instead]) => text.replaceAll(there, instead), commands);
}

/** Lines without what differs from one run to the next: times, ids, the width of columns, whether a step has a worker. */
function linesOf(output: string): string[] {
  return output
    .split('\n')
    .map((line) =>
      line
        .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
        .replaceAll(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g, '<id>')
        .replaceAll(/\b(?:(?:resp|call)_)?(?=[a-z]*\d)[\da-z]{16,32}\b/g, '<id>')
        .replaceAll(/\s+/g, ' ')
        .replace(/ (scheduled|started) (?=\d)/, ' <state> ')
        .trim(),
    )
    .filter((line) => line !== '');
}
