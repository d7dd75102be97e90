import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { checkout, listFiles } from './checkout.ts';
import type { Findings } from './run-steps.ts';

const LONG = 250;
const TOO_LONG = 400;

/** Long source files are listed, too long ones refused; tests, generated text and SQL may be longer. */
export async function reportFileSizes(): Promise<Findings> {
  const sources = (await listFiles()).filter(isSource);
  const sizes = await Promise.all(sources.map(async (path) => ({ path, lines: await countLines(path) })));
  const long = sizes.filter(({ lines }) => lines > LONG).toSorted((a, b) => b.lines - a.lines);
  return {
    ok: long.every(({ lines }) => lines <= TOO_LONG),
    text: long
      .map(({ path, lines }) => `${path}: ${lines} lines${lines > TOO_LONG ? `, at most ${TOO_LONG}` : ''}`)
      .join('\n'),
  };
}

export function isSource(path: string): boolean {
  return /\.(ts|tsx|mjs|js|css)$/.test(path) && !path.startsWith('test/');
}

async function countLines(path: string): Promise<number> {
  const text = await readFile(join(checkout, path), 'utf8');
  return text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
}
