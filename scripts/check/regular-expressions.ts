import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseSync, Visitor } from 'oxc-parser';
import { check } from 'recheck';
import { attackStrings, expectLinear } from '../../test/support/growth.ts';
import { checkout, listFiles } from './checkout.ts';
import type { Findings } from './run-steps.ts';

/** Expressions that are built at run time are not checked: where, and why they are harmless. */
const built: ReadonlyMap<string, string> = new Map([
  ['adapters/knowledge/formats/read-notebook.ts', 'a control character and a bounded repetition'],
  ['domain/foundation/kernel/config.ts', 'names of our failpoints, held against a setting of the operator'],
  [
    'domain/governance/redaction/pii-tokens.ts',
    'measured with all recognisers in test/domain/governance/recognition/growth.test.ts',
  ],
  ['domain/governance/recognition/api-key.ts', 'measured in the same test'],
  ['domain/governance/recognition/ip.ts', 'measured in the same test'],
  ['domain/foundation/kernel/hidden-text.ts', 'one class of characters, and runs of it; measured there, too'],
]);

/** Their automaton is not complete after half a minute: measured at once. A changed one is no longer in this list. */
const tooLarge: ReadonlySet<string> = new Set(
  [
    /<ac:parameter\b([^<>]*)>([^<]*)<\/ac:parameter>/g,
    /<ac:task-(?:id|uuid|status)\b[^<>]*>[^<]*<\/ac:task-(?:id|uuid|status)>/g,
    /^<\?xml[^>]*encoding\s*=\s*["']([\w-]+)|<meta[^>]*charset\s*=\s*["']?([\w-]+)/i,
    /<([^<>]{1,4000})>;\s*rel="next"/,
    /^(?:export |public |private |static |async |default |abstract )*(?:function|class|def|fn|func|interface|struct|enum|impl|module|namespace|trait|type|sub|package)\b/,
    /[;{}]$|^(?:\/\/|#include|import |from \S+ import|def |class |return\b|@\w)|[)\]]:$|=>|^<\?php/,
    /^(?:[\p{L}\p{M}\p{N}](?:[\p{L}\p{M}\p{N}-]{0,61}[\p{L}\p{M}\p{N}])?\.)+(?:\p{L}[\p{L}\p{M}]{1,62}|xn--[a-z0-9-]{2,59})/iu,
  ].map(String),
);
/** On a machine that runs other steps beside; a tenth of it is enough without. */
const timeoutMs = 10_000;

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
export async function checkExpression({ place, regex }: FoundExpression): Promise<string | null> {
  if (regex === undefined) {
    const [file = ''] = place.split(':');
    return built.has(file)
      ? null
      : `${place}: built at run time; write it as a literal, or name it in \`built\``;
  }
  const { pattern, flags } = regex;
  const everywhere = new RegExp(pattern, flags.replaceAll(/[gy]/g, '') + 'g');
  if (tooLarge.has(`/${pattern}/${flags}`)) return measure(place, everywhere);
  // By its automaton alone: a search for attacks depends on the load of the machine.
  const verdict = await check(pattern, flags, { checker: 'automaton', timeout: timeoutMs });
  switch (verdict.status) {
    case 'safe':
      return null;
    case 'vulnerable':
      return `${place}: /${pattern}/${flags} takes ${verdict.complexity.summary} time, for example on ${verdict.attack.pattern}`;
    case 'unknown':
      return measure(place, everywhere);
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
  const unused = new Set(tooLarge);
  const unbuilt = new Set(built.keys());
  for (const file of (await listFiles()).filter(isProgram)) {
    for (const found of findExpressions(file, await readFile(join(checkout, file), 'utf8'))) {
      if (found.regex === undefined) unbuilt.delete(file);
      else unused.delete(`/${found.regex.pattern}/${found.regex.flags}`);
      const fault = await checkExpression(found);
      if (fault !== null) faults.push(fault);
    }
  }
  faults.push(...[...unused].map((each) => `${each}: in no program; remove it from \`tooLarge\``));
  faults.push(...[...unbuilt].map((file) => `${file}: builds none at run time; remove it from \`built\``));
  return { ok: faults.length === 0, text: faults.join('\n') };
}
