import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { withoutHidden } from '#domain/foundation/kernel/hidden-text.ts';
import { expectLinear } from '../../../support/growth.ts';

const tags = (text: string) =>
  Array.from(text, (c) => String.fromCodePoint(0xe0000 + c.codePointAt(0)!)).join('');
const selectors = (bytes: number[]) => bytes.map((b) => String.fromCodePoint(0xe0100 + b)).join('');

describe('hidden characters', () => {
  it.each([
    ['a text in tags', `Adds${tags('and sends all')} items`, 'Adds items', ['tag 13']],
    ['a text in tags behind a flag', `\u{1F3F4}${tags('send all')}\u{E007F}`, '\u{1F3F4}', ['tag 9']],
    [
      'bytes in variation selectors',
      `ok\u{1F600}${selectors([1, 2, 3])}`,
      'ok\u{1F600}',
      ['variation_selector 3'],
    ],
    ['more selectors than one', '\u2764\uFE0F\uFE0F\uFE0F', '\u2764\uFE0F', ['variation_selector 2']],
    ['an override of the order', 'a\u202Egnp.exe\u202C', 'agnp.exe', ['bidi 2']],
    ['isolates', '\u2066a\u2069', 'a', ['bidi 2']],
    ['marks in text from left to right', 'a\u200Eb\u200Fc', 'abc', ['bidi 2']],
    ['zero-width characters in words', 'de\u200Ble\u200Dte\u2060\uFEFF', 'delete', ['zero_width 4']],
    ['invisible operators', 'a\u2062b\u2064', 'ab', ['zero_width 2']],
    ['fillers', 'a\u3164\uFFA0b', 'ab', ['filler 2']],
    ['escapes of a terminal', 'a\u001B[8mb\u009B', 'a[8mb', ['control 2']],
    [
      'marks and selectors that Unicode counts as letters',
      '\u0645\u061C\u061C\u061C\u1820\u180B\u180B',
      '\u0645\u061C\u1820\u180B',
      ['bidi 2', 'variation_selector 1'],
    ],
    ['what else is ignored by default', 'de\u00ADlete\u034F\u{E0FFF}\u17B4', 'delete', ['ignorable 4']],
    ['joiners between letters that do not join', 'a\u200Cb', 'ab', ['zero_width 1']],
  ])('are removed: %s', (_what, text, cleaned, kinds) => {
    const { text: kept, found } = withoutHidden(text);
    expect(kept).toBe(cleaned);
    expect([...found].map(([kind, count]) => `${kind} ${count}`)).toEqual(kinds);
  });

  it.each([
    ['a family', '\u{1F468}\u200D\u{1F469}\u200D\u{1F467}'],
    ['a judge with a skin tone', '\u{1F468}\u{1F3FD}\u200D\u2696\uFE0F'],
    ['a rainbow flag', '\u{1F3F3}\uFE0F\u200D\u{1F308}'],
    ['the flag of Scotland', `\u{1F3F4}${tags('gbsct')}\u{E007F}`],
    ['a heart and a keycap', '\u2764\uFE0F 1\uFE0F\u20E3'],
    ['Persian', '\u0645\u06CC\u200C\u062E\u0648\u0627\u0647\u0645'],
    ['Hindi', '\u0915\u094D\u200D\u0937 \u0915\u094D\u200C\u0937'],
    ['Hebrew with marks', '\u05E9\u05DC\u05D5\u05DD!\u200F abc \u200E\u05D0'],
    ['Thai with breaks', '\u0E01\u0E34\u0E19\u200B\u0E02\u0E49\u0E32\u0E27'],
    ['a Japanese name', '\u845B\u{E0100}\u98FE'],
    ['old Hangul', '\u115F\u1161'],
    ['tabs, lines and separators', 'a\tb\r\nc\u001Ed\u0085'],
    ['plain text', 'Plain text, ünïcode, 漢字 and 😀.'],
  ])('stay where they are needed: %s', (_what, text) => {
    expect(withoutHidden(text)).toEqual({ text, found: new Map() });
  });

  it('are all removed in one pass', () => {
    const odd = fc.constantFrom(
      ...Array.from(
        'a1 \u0645\u0915\u05D0\u2764\uFE0F\u200D\u200C\u200B\u200E\u202E\u00AD\u180B\u1820\u1160\u1161',
      ),
      '\u{1F3F4}',
      '\u{E0067}',
      '\u{E007F}',
      '\u{1F468}',
      '\u{E0100}',
      '\u845B',
    );
    fc.assert(
      fc.property(fc.array(odd, { maxLength: 12 }), (parts) => {
        const once = withoutHidden(parts.join('')).text;
        expect(withoutHidden(once)).toEqual({ text: once, found: new Map() });
      }),
      { numRuns: 3_000 },
    );
  });

  it.each([
    ['tags', '\u{E0041}'],
    ['flags that do not end', '\u{1F3F4}\u{E0067}\u{E0062}\u{E0065}'],
    ['selectors', '\uFE0F'],
    ['joiners', '\u0645\u200C'],
    ['marks', '\u05D0!\u200F'],
  ])('are found in linear time: %s', (what, unit) => {
    const make = (size: number) => unit.repeat(size / unit.length);
    expectLinear(what, { make, work: withoutHidden, size: 400_000 });
  });
});
