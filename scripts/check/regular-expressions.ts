import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseSync, Visitor } from 'oxc-parser';
import { checkSync } from 'recheck';
import { attackStrings, expectLinear } from '../../test/support/growth.ts';
import { checkout, listFiles } from './checkout.ts';
import type { Findings } from './run-steps.ts';

/** Expressions that are built at run time are not checked: where, and why they are harmless. */
const built: ReadonlyMap<string, string> = new Map([
  ['domain/foundation/kernel/config.ts', 'names of our failpoints, held against a setting of the operator'],
  [
    'api/plugins/error-handling.ts',
    'paths of our routes, none of which has two parts of any length side by side',
  ],
  [
    'domain/governance/redaction/pii-tokens.ts',
    'measured with all recognisers in test/domain/governance/recognition/growth.test.ts',
  ],
  ['domain/governance/recognition/api-key.ts', 'measured in the same test'],
  ['domain/governance/recognition/ip.ts', 'measured in the same test'],
  ['domain/foundation/kernel/hidden-text.ts', 'one class of characters, and runs of it; measured there, too'],
]);

export interface FoundExpression {
  place: string;
  /** Skipped: it is built at run time. */
  regex?: { pattern: string; flags: string };
}

const isProgram = (file: string): boolean =>
  /^(?:activities|adapters|api|bin|domain|temporal|workflows)\/.*\.(?:ts|mjs)$/.test(file);

/** Every regular expression of a source, by line. */
export function findExpressions(file: string, source: string): FoundExpression[] {
  const found: FoundExpression[] = [];
  const placeOf = (start: number) => `${file}:${source.slice(0, start).split('\n').length}`;
  const construct = ({ callee, start }: { callee: { type: string; name?: unknown }; start: number }) => {
    if (callee.type === 'Identifier' && callee.name === 'RegExp') found.push({ place: placeOf(start) });
  };
  new Visitor({
    Literal: (node) => {
      if ('regex' in node) found.push({ place: placeOf(node.start), regex: node.regex });
    },
    NewExpression: construct,
    CallExpression: construct,
  }).visit(parseSync(file, source).program);
  return found;
}

/** Why an expression may take more than linear time on untrusted text; null when it does not. */
export function checkExpression({ place, regex }: FoundExpression): string | null {
  if (regex === undefined) {
    const [file = ''] = place.split(':');
    return built.has(file)
      ? null
      : `${place}: built at run time; write it as a literal, or name it in \`built\``;
  }
  const { pattern, flags } = regex;
  // By its automaton alone: a search for attacks depends on the load of the machine.
  const verdict = checkSync(pattern, flags, { checker: 'automaton', timeout: 3_000 });
  switch (verdict.status) {
    case 'safe':
      return null;
    case 'vulnerable':
      return `${place}: /${pattern}/${flags} takes ${verdict.complexity.summary} time, for example on ${verdict.attack.pattern}`;
    case 'unknown':
      return measure(place, new RegExp(pattern, flags.replaceAll(/[gy]/g, '') + 'g'));
  }
}

/** For expressions without an automaton, such as look-behinds: known attack strings for parsers. */
function measure(place: string, expression: RegExp): string | null {
  try {
    for (const [name, make] of Object.entries(attackStrings)) {
      const work = (text: string) => text.replace(expression, '');
      expectLinear(`${place} on ${name}`, { make, work, size: 8_000 });
    }
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Every regular expression of the programs takes linear time at most, as far as can be checked. */
export async function checkExpressions(): Promise<Findings> {
  const faults: string[] = [];
  for (const file of (await listFiles()).filter(isProgram)) {
    const source = await readFile(join(checkout, file), 'utf8');
    faults.push(...findExpressions(file, source).flatMap((each) => checkExpression(each) ?? []));
  }
  return { ok: faults.length === 0, text: faults.join('\n') };
}
