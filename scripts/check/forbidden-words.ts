import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { checkout, listFiles } from './checkout.ts';
import type { Findings } from './run-steps.ts';

/** Split, so that this file does not find itself. */
const FORBIDDEN = [
  { pattern: new RegExp(['\\b(TO', 'DO|FIX', 'ME)\\b'].join('')), reason: 'finish it, or write an issue' },
  { pattern: new RegExp(['\\b(vi|jest)\\.', '(do)?[mM]ock\\b'].join('')), reason: 'tests use real parts' },
];
/** Left over from a merge; the formatter turns the last one of a document into quotations. */
const MARKERS = [{ pattern: /^(<{7} |>{7} |(> ){7})/, reason: 'a conflict of a merge' }];
/** Documents may name what code may not hold. */
const CODE = /\.(ts|tsx|mjs|js|css|sql|sh|ya?ml|go)$|(^|\/)(Dockerfile|run)$/;
const TEXT = new RegExp(`${CODE.source}|\\.(md|json)$`);

export async function findForbiddenWords(): Promise<Findings> {
  const found = await Promise.all(
    (await listFiles())
      .filter((path) => TEXT.test(path))
      .map(async (path) => inspect(path, await readFile(join(checkout, path), 'utf8'))),
  );
  const lines = found.flat();
  return { ok: lines.length === 0, text: lines.join('\n') };
}

/** One line per find: where, and what to do instead. */
export function inspect(path: string, text: string): string[] {
  const searched = CODE.test(path) ? [...FORBIDDEN, ...MARKERS] : MARKERS;
  return text
    .split('\n')
    .flatMap((line, index) =>
      searched
        .filter(({ pattern }) => pattern.test(line))
        .map(({ reason }) => `${path}:${index + 1}: ${line.trim().slice(0, 100)} (${reason})`),
    );
}
