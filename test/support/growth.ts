import { inspect } from 'node:util';
import { countThreadMs } from './thread-time.ts';

/** The processor time in milliseconds below which growth drowns in the machine's noise. */
const noiseMs = 25;
/** Twice the text may take this many times as long. */
const atMost = 2.6;

function threadMs(work: () => unknown): number {
  const spent = countThreadMs();
  work();
  return spent();
}

interface Times {
  single: number;
  double: number;
}

const areLinear = ({ single, double }: Times): boolean => double <= Math.max(noiseMs, single) * atMost;

const notLinear = (name: string, size: number, times: Times): Error =>
  new Error(`${name} does not grow with its text: ${inspect(times)} ms for ${size} and twice as many.`);

/**
 * The processor time of this thread alone, in milliseconds, without the threads of compiler and collector and
 * other processes. The minimum of several runs: a pause of the machine only adds.
 */
export function shortest(work: () => unknown, runs: number): number {
  return Math.min(...Array.from({ length: runs }, () => threadMs(work)));
}

/** @throws when work on `make(2 * size)` takes more than 2.6 times the processor time of `make(size)` */
export function expectLinear<T>(
  name: string,
  { make, work, size }: { make: (size: number) => T; work: (input: T) => unknown; size: number },
): void {
  const [single, double] = [make(size), make(2 * size)];
  let times = { single: 0, double: 0 };
  for (const runs of [1, 3, 7, 15]) {
    times = { single: shortest(() => work(single), runs), double: shortest(() => work(double), runs) };
    if (areLinear(times)) {
      return;
    }
    // A clear result is not repeated.
    if (runs > 1 && times.double > Math.max(300, times.single * 3.3)) break;
  }
  throw notLinear(name, size, times);
}

/**
 * The same for work that this thread does step by step, and that takes long enough to be measured a few times. Work
 * that is not linear is so at twice the size too; a collection of garbage that falls into the longer text is not.
 */
export async function expectLinearLater<T>(
  name: string,
  { make, work, size }: { make: (size: number) => T; work: (input: T) => Promise<unknown>; size: number },
): Promise<void> {
  if (areLinear(await timesLater(make, work, size))) return;
  const times = await timesLater(make, work, 2 * size);
  if (!areLinear(times)) throw notLinear(name, 2 * size, times);
}

async function timesLater<T>(
  make: (size: number) => T,
  work: (input: T) => Promise<unknown>,
  size: number,
): Promise<Times> {
  const [single, double] = [make(size), make(2 * size)];
  const times = { single: Infinity, double: Infinity };
  for (let run = 0; run < 5 && (run === 0 || !areLinear(times)); run += 1) {
    for (const [input, key] of [
      [single, 'single'],
      [double, 'double'],
    ] as const) {
      const spent = countThreadMs();
      await work(input);
      times[key] = Math.min(times[key], spent());
    }
  }
  return times;
}

/** Strings that cause backtracking in parsers. */
export const attackStrings: Readonly<Record<string, (size: number) => string>> = {
  ...Object.fromEntries(
    [
      '[',
      '![',
      '[a](',
      '](',
      '*',
      '**a ',
      '*a_ ',
      '_',
      '`',
      '`a``',
      '~~~',
      '<',
      '<!--',
      '<a ',
      '&',
      '\\',
      '> ',
      '>',
      '- ',
      '- - - x\n',
      '1. ',
      '#',
      '# ',
      '# #',
      '# a\n',
      'a\n-\n',
      '---\n',
      '[a]: <\n',
      '|a|\n|-|\n',
      ' ',
      '\t',
      '\n',
      'a\n\n',
      '\u2028',
      '. ',
      'A. ',
      'e.g. ',
      '"',
      '(',
      '{',
      '1',
      '1 ',
      '1-',
      '+1 ',
      '00',
      '(0)',
      '1.',
      ':',
      '::',
      'a:',
      'a@',
      '@',
      '@a.',
      'a.b@',
      '-',
      '[EMAIL_aaaaaaaaaaaa]',
      'eyJ',
      '.eyJ',
      'eyJaaaaaaaa.',
      'sk-',
      'xoxb-',
      'SG.',
      '-----BEGIN PRIVATE KEY-----',
      '-----END PRIVATE KEY-----',
      'DE89',
      'GB',
      '4111 ',
      'é',
      '😀',
      '\ud800',
      '\u200b',
      '\u200d',
      'a\ufe0f',
      '\u{e0061}',
      '\u{1f3f4}\u{e0067}',
    ].map((unit) => [unit, (size: number) => unit.repeat(Math.ceil(size / unit.length))]),
  ),
  'a heading of brackets': (size) => `# ${'['.repeat(size)}`,
  'a line that does not end well': (size) => `# ${'\t'.repeat(size)}\u2028a`,
  'blanks within a sentence': (size) => `a${' '.repeat(size)}b`,
  'a long word': (size) => 'a'.repeat(size),
  'deeper and deeper lists': (size) => {
    const lines: string[] = [];
    for (let length = 0; length < size; length += lines.at(-1)!.length) {
      lines.push(`${'  '.repeat(lines.length)}- a\n`);
    }
    return lines.join('');
  },
  'longer and longer ticks': (size) => {
    const runs: string[] = [];
    for (let length = 0; length < size; length += runs.length + 1) {
      runs.push(`${'`'.repeat(runs.length + 1)}a`);
    }
    return runs.join('');
  },
};
