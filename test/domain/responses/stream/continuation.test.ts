import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ContinuationMatcher, shownPrefix, splitAtCodePoint } from '#domain/responses/stream/continuation.ts';
import type { Decision } from '#domain/responses/stream/continuation.ts';
import { expectLinear, shortest } from '../../../support/growth.ts';

interface Outcome {
  text: string;
  how: string;
}

/** The readers' final text: the prefix plus the appended text, or the new item alone after a restart. */
function join(prefix: string, pieces: string[]): Outcome {
  const matcher = new ContinuationMatcher(prefix);
  let text = prefix;
  let how = 'hold';
  const take = (decision: Decision) => {
    if (decision.kind === 'hold') {
      expect(how, 'a decision is never taken back').toBe('hold');
      return;
    }
    if (how === 'hold') how = decision.kind === 'append' ? decision.matched : 'restart';
    text = decision.kind === 'restart' ? decision.text : text + decision.text;
  };
  for (const piece of pieces) take(matcher.push(piece));
  take(matcher.end());
  expect(how).not.toBe('hold');
  return { text, how };
}

const word = fc.oneof(
  fc.string({ minLength: 1, maxLength: 9 }),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 5 }),
  fc.constantFrom('the', 'the', 'a', '👩‍👩‍👧‍👦', 'né', '\u0000', '**', '[1]'),
);
const space = fc.constantFrom(' ', ' ', ' ', '\n', '\n\n', '  ', '\n    ', '\t', '\u00a0', '');
/** Prose with every kind of white space; a number in each word keeps most texts from repeating themselves. */
const prose = fc
  .array(fc.tuple(word, space), { minLength: 1, maxLength: 60 })
  .map((words) => words.map(([w, s], i) => `${w}${i}${s}`).join(''));
/** Few letters, so that texts repeat themselves at every length. */
const repetitive = fc.array(fc.constantFrom('a', 'b', ' ', '\n'), { maxLength: 90 }).map((x) => x.join(''));
const anyText = fc.oneof(prose, repetitive);

const cutText = (texts: fc.Arbitrary<string>) =>
  fc.tuple(texts, fc.double({ min: 0, max: 1, noNaN: true })).map(([text, share]) => ({
    text,
    prefix: splitAtCodePoint(text.slice(0, Math.round(share * text.length))).ready,
  }));

/** Cuts into pieces of 1 to 12 UTF-16 units, through surrogate pairs as well. */
function pieces(text: string, sizes: number[]): string[] {
  const cut: string[] = [];
  for (let at = 0, i = 0; at < text.length; i += 1) {
    const size = sizes[i % sizes.length]!;
    cut.push(text.slice(at, at + size));
    at += size;
  }
  return cut;
}
const sizes = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 20 });

function sharedStart(a: string, b: string): number {
  let n = 0;
  while (n < Math.min(a.length, b.length) && a[n] === b[n]) n += 1;
  return n;
}

/** Whether `start` could also be a repeat of `prefix` although it is new: then no rule can decide. */
function looksLikeRepeat(prefix: string, start: string, longerThan = 15): boolean {
  const shown = shownPrefix(prefix);
  return [start, start.trimStart()].some((candidate) => {
    if (shown !== '' && candidate.startsWith(shown) && shown.length > longerThan) return true;
    if (longerThan === 15 && shown !== '' && start.startsWith(shown)) return true;
    const atOnce = start === start.trimStart();
    if (longerThan === 15 && atOnce && sharedStart(prefix.trimStart(), start) > 15) return true;
    return [prefix, shown].some((ours) => {
      for (let n = longerThan + 1; n <= Math.min(ours.length, candidate.length); n += 1) {
        if (ours.endsWith(candidate.slice(0, n))) return true;
      }
      return false;
    });
  });
}

describe('a model that honours the prefix', () => {
  test('continues any text from any cut to exactly that text', () => {
    fc.assert(
      fc.property(cutText(anyText), sizes, ({ text, prefix }, cuts) => {
        const answer = text.slice(shownPrefix(prefix).length);
        fc.pre(!looksLikeRepeat(prefix, answer));
        expect(join(prefix, pieces(answer, cuts))).toEqual({ text, how: 'none' });
      }),
      { numRuns: 2000 },
    );
  });

  test.each([
    ['sentence', 'The keeper remembers the storm. A heron waits.', ' The keeper remembers the quay, too.'],
    ['line', '- The harbour of Vell: deep\n- The', '\n- The harbour of Vorn: shallow'],
    ['row', '| the harbour of Vell | 7 m |\n', '\n| the harbour of Vorn | 2 m |'],
    ['paragraph', '\n\nThe keeper remembers the storm.', '\n\nThe keeper remembers the quay.'],
    ['indented line', `${' '.repeat(20)}one\n`, `\n${' '.repeat(20)}two`],
    ['unfinished sentence', 'The keeper remembers the storm.', ' The keeper remembers the'],
  ])('loses nothing where its next %s begins like the first', (_, prefix, answer) => {
    for (const cuts of [[1], [5], [answer.length]]) {
      expect(join(prefix, pieces(answer, cuts))).toEqual({ text: shownPrefix(prefix) + answer, how: 'none' });
    }
  });

  test('keeps a paragraph break that was interrupted in its middle', () => {
    const text = 'One paragraph.\n\nAnother one.';
    const prefix = 'One paragraph.\n';
    expect(join(prefix, [text.slice(shownPrefix(prefix).length)]).text).toBe(text);
  });
});

describe('a model that restarts from zero', () => {
  test('gives any text from any cut without a repeated or lost character', () => {
    fc.assert(
      fc.property(cutText(anyText), sizes, ({ text, prefix }, cuts) => {
        expect(join(prefix, pieces(text, cuts)).text).toBe(text);
      }),
      { numRuns: 2000 },
    );
  });

  test('is held back for as long as it repeats the prefix, also beyond 512 characters', () => {
    const prefix = Array.from({ length: 300 }, (_, i) => `w${i}`).join(' ');
    const matcher = new ContinuationMatcher(prefix);
    for (const piece of pieces(prefix.slice(0, -1), [7]))
      expect(matcher.push(piece)).toEqual({ kind: 'hold' });
    const decided = { kind: 'append', text: ' and on', matched: 'whole_prefix' };
    expect(matcher.push(`${prefix.slice(-1)} and on`)).toEqual(decided);
  });

  test('may begin with white space and write other white space after the prefix', () => {
    const prefix = 'A sentence of some length. ';
    expect(join(prefix, ['\n\n', 'A sentence of some length.', '\nNext'])).toEqual({
      text: 'A sentence of some length. \nNext',
      how: 'whole_prefix',
    });
  });
});

describe('a model that overlaps', () => {
  test('by 16 characters or more gives any text from any cut exactly', () => {
    fc.assert(
      fc.property(cutText(prose), fc.integer({ min: 16, max: 80 }), sizes, ({ text, prefix }, n, cuts) => {
        const shown = shownPrefix(prefix);
        fc.pre(shown.length > n);
        const answer = text.slice(shown.length - n);
        fc.pre(!looksLikeRepeat(prefix, answer, n + prefix.length - shown.length));
        expect(join(prefix, pieces(answer, cuts))).toEqual({ text, how: 'overlap' });
      }),
      { numRuns: 2000 },
    );
  });

  test('by fewer than 16 characters does not count as an overlap', () => {
    const prefix = 'The report names three causes of delay';
    expect(join(prefix, ['causes of delay', ' and more']).text).toBe(`${prefix}causes of delay and more`);
    expect(join(prefix, ['e causes of delay', ' and more']).text).toBe(`${prefix} and more`);
  });

  test('counts the white space at the prefix end among the 16', () => {
    const prefix = 'The report names three causes:\n\n    ';
    expect(join(prefix, ['ee causes:\n\n    1. rain']).text).toBe(`${prefix}1. rain`);
    expect(join(prefix, ['causes:\n    1. rain']).text).toBe(`${prefix}causes:\n    1. rain`);
  });

  test('may write other white space after the overlap', () => {
    const prefix = 'The report names three causes. ';
    expect(join(prefix, ['names three causes.\nNext']).text).toBe(`${prefix}\nNext`);
  });

  test('drops the longest of several matches', () => {
    const prefix = `start ${'0123456789abcdef'.repeat(3)}`;
    expect(join(prefix, ['0123456789abcdef'.repeat(2), '!']).text).toBe(`${prefix}!`);
  });
});

describe('a model that diverges', () => {
  const prefix = 'The first sixteen characters are common, then not.';

  test('restarts with its whole text, and later text is appended to that', () => {
    const matcher = new ContinuationMatcher(prefix);
    expect(matcher.push('The first sixteen')).toEqual({ kind: 'hold' });
    expect(matcher.push(' words')).toEqual({ kind: 'restart', text: 'The first sixteen words' });
    expect(matcher.push(' differ')).toEqual({ kind: 'append', text: ' differ', matched: 'none' });
    expect(matcher.end()).toEqual({ kind: 'append', text: '', matched: 'none' });
  });

  test('restarts also when its text ends inside the prefix', () => {
    expect(join(prefix, ['The first sixteen', ' char'])).toEqual({
      text: 'The first sixteen char',
      how: 'restart',
    });
  });

  test('restarts also without the line breaks that it began with before', () => {
    const received = join(`\n\n${prefix}`, ['The first sixteen', ' words differ']);
    expect(received).toEqual({ text: 'The first sixteen words differ', how: 'restart' });
  });

  test('is appended when fewer than 16 characters are common', () => {
    expect(join(prefix, ['The first six', ' of them']).how).toBe('none');
  });
});

describe('the decision', () => {
  test('does not depend on how the text is split', () => {
    const related = fc
      .tuple(cutText(anyText), anyText, fc.nat(90), space, fc.nat(3))
      .map(([{ text, prefix }, other, n, gap, manner]) => ({
        prefix,
        answer: gap + [text.slice(n), prefix.slice(-n) + other, prefix.slice(0, n) + other, other][manner]!,
      }));
    fc.assert(
      fc.property(related, sizes, ({ prefix, answer }, cuts) => {
        expect(join(prefix, pieces(answer, cuts))).toEqual(join(prefix, [answer]));
      }),
      { numRuns: 4000 },
    );
  });

  test('comes at once for an empty prefix', () => {
    const matcher = new ContinuationMatcher('');
    expect(matcher.push(' H')).toEqual({ kind: 'append', text: ' H', matched: 'none' });
    expect(matcher.push('i')).toEqual({ kind: 'append', text: 'i', matched: 'none' });
  });

  test('holds endless leading white space no longer than 512 characters', () => {
    const matcher = new ContinuationMatcher('A prefix.');
    expect(matcher.push(' '.repeat(511)).kind).toBe('hold');
    expect(matcher.push(' ')).toEqual({ kind: 'append', text: ' '.repeat(512), matched: 'none' });
  });

  test.each([
    ['the same white space', 'def f():\n    ', '\n    return', 'def f():\n    return'],
    ['the beginning of ours', 'One.\n\n', '\nTwo', 'One.\n\nTwo'],
    ['the end of ours', 'def f():\n    ', '    return', 'def f():\n    return'],
    ['none', 'One. ', 'Two', 'One. Two'],
    ['more than ours', 'One.\n', '\n\nTwo', 'One.\n\nTwo'],
    ['other white space', 'def f():\n', '    return', 'def f():\n    return'],
  ])('removes the white space that is already published from a start with %s', (_, prefix, answer, whole) => {
    expect(join(prefix, [answer]).text).toBe(whole);
    expect(join(prefix, pieces(answer, [1])).text).toBe(whole);
  });
});

describe('text that repeats itself', () => {
  const joined = ([prefix, ...parts]: string[]) => {
    const matcher = new ContinuationMatcher(prefix!);
    for (const part of parts) matcher.push(part);
    matcher.end();
  };

  test.each<[string, (size: number) => string[]]>([
    ['one letter', (size) => [`${'a'.repeat(size)}b`, `${'a'.repeat(size)}c`]],
    ['two letters', (size) => ['ab'.repeat(size), `${'ab'.repeat(size)}b`]],
    ['white space', (size) => [`x${' '.repeat(size)}`, ' \t'.repeat(size)]],
    [
      'nearly the same',
      (size) => [`${'a'.repeat(size)}b`.repeat(2), `${'a'.repeat(size)}b${'a'.repeat(size)}c`],
    ],
    [
      'a letter that is not in it',
      (size) => ['a'.repeat(size), `${'a'.repeat(100)}b${'a'.repeat(size / 4)}`],
    ],
    [
      'a letter that is not in it, behind white space',
      (size) => ['a'.repeat(size), `\n${'a'.repeat(100)}b${'a'.repeat(size / 4)}`],
    ],
  ])('(%s) is joined in linear time', (name, make) => {
    expectLinear(name, { make, work: joined, size: 4_000 });
    // Quadratic time is not waited for at this size.
    expectLinear(name, { make, work: joined, size: 100_000 });
  });

  test('is not scanned again for each of its pieces', () => {
    const make = (size: number) => ['a'.repeat(2 * size), ...Array.from({ length: size }, () => 'a')];
    expectLinear('a repeat in pieces', { make, work: joined, size: 60_000 });
  });

  test('in pieces that match late is joined within a second', () => {
    const start = `${'a'.repeat(100)}b`;
    const published = `${'a'.repeat(100_000)}${start}${'a'.repeat(1_000)}c`;
    const parts = [published, start, ...Array.from({ length: 900 }, () => 'a')];
    expect(shortest(() => joined(parts), 1)).toBeLessThan(1_000);
  });
});

describe('splitAtCodePoint', () => {
  test('never ends in half a surrogate pair and loses nothing however it is split', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), sizes, (text, cuts) => {
        let kept = '';
        let out = '';
        for (const piece of pieces(text, cuts)) {
          const { ready, rest } = splitAtCodePoint(kept + piece);
          expect(ready.isWellFormed()).toBe(true);
          out += ready;
          kept = rest;
        }
        expect(out + kept).toBe(text);
        expect(kept).toBe('');
      }),
    );
  });

  test('keeps a trailing high half back', () => {
    expect(splitAtCodePoint('a\ud83d')).toEqual({ ready: 'a', rest: '\ud83d' });
    expect(splitAtCodePoint('\ude00')).toEqual({ ready: '\ude00', rest: '' });
    expect(splitAtCodePoint('')).toEqual({ ready: '', rest: '' });
  });
});
