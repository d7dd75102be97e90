import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { piiKinds } from '#domain/governance/recognition/pii-kinds.ts';
import { tokenOf, tokenPattern } from '#domain/governance/redaction/pii-tokens.ts';
import { Redactor } from '#domain/governance/redaction/redact.ts';
import { restoreLine, restoreText, restoreValue } from '#domain/governance/redaction/restore.ts';
import { TokenGuard } from '#domain/governance/redaction/token-guard.ts';
import { secrets } from '../../../support/world.ts';

const redactor = (tokens: 'mine' | 'foreign' = 'foreign') =>
  new Redactor({ secrets, scope: 'thread-1', tokens, kinds: piiKinds, phoneCountries: [] });
const mappingOf = (used: Redactor) => new Map(used.entries.map((entry) => [entry.token, entry]));

const planted = fc.constantFrom(
  'anna.meier@example.org',
  '+49 30 901820',
  'DE89 3704 0044 0532 0130 00',
  '4111 1111 1111 1111',
  '203.0.113.7',
  'ghp_abcdefghijklmnopqrstuvwxyz0123456789',
  tokenOf(secrets, 'thread-1', { kind: 'email', value: 'anna.meier@example.org' }),
  '[EMAIL_aaaaaaaaaaaa]',
  '[EMAIL_',
  '[TEXT_aaaaaaaaaaa',
);
const texts = fc
  .array(
    fc.oneof(
      planted,
      fc.string({ unit: 'grapheme', maxLength: 12 }),
      fc.constantFrom('[', ']', '"', '\\', '\n'),
    ),
  )
  .map((parts) => parts.join(' '));

describe('a redacted text', () => {
  it('is restored exactly for any content, tokens of ours included', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const used = redactor();
        expect(restoreText(used.text(text), mappingOf(used))).toBe(text);
      }),
      { numRuns: 1_000 },
    );
  });

  it('contains none of the found values', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const used = redactor();
        const redacted = used.text(text);
        for (const { value, type } of used.entries) {
          if (type !== 'text') expect(redacted).not.toContain(value);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('is not changed by a second redaction', () => {
    const used = redactor();
    const once = used.text('Write to anna.meier@example.org or call +49 30 901820.');
    const again = redactor('mine');
    expect(again.text(once)).toBe(once);
    expect(again.entries).toEqual([]);
  });

  it('has the same token for the same value of a conversation, and another one elsewhere', () => {
    const value = { kind: 'email' as const, value: 'a@example.org' };
    expect(tokenOf(secrets, 'one', value)).toBe(tokenOf(secrets, 'one', value));
    expect(tokenOf(secrets, 'one', value)).not.toBe(tokenOf(secrets, 'two', value));
    expect(redactor().text('a@example.org, a@example.org')).toMatch(/^(\[EMAIL_\w+\]), \1$/);
  });

  it('has the token of a value computed once, however often the value is repeated', () => {
    let computed = 0;
    const counted = {
      mac: (...input: Parameters<typeof secrets.mac>) => ((computed += 1), secrets.mac(...input)),
    };
    const used = new Redactor({
      secrets: counted,
      scope: 'a',
      tokens: 'foreign',
      kinds: piiKinds,
      phoneCountries: [],
    });
    used.text('Call +49 30 901820, or +49 30 901821. '.repeat(100));
    used.text('Call +49 30 901820.');
    expect(used.entries.map(({ count }) => count)).toEqual([101, 100]);
    expect(computed).toBe(2);
  });
});

describe('JSON', () => {
  it('stays JSON, and comes back exactly with its escapes and blanks', () => {
    const value = fc.anything({
      values: [
        texts,
        fc.integer(),
        fc.boolean(),
        fc.constantFrom(4111111111111111, 4111111111111111.5, -6011000990139424),
      ],
      maxDepth: 3,
    });
    fc.assert(
      fc.property(value, fc.constantFrom(undefined, 2, '\t'), (given, blanks) => {
        const text = JSON.stringify({ given }, null, blanks)
          .replaceAll('@', '\\u0040')
          .replaceAll('/', '\\/');
        const used = redactor();
        const redacted = used.maybeJson(text);
        expect(() => JSON.parse(redacted) as unknown).not.toThrow();
        expect(redacted).not.toMatch(/anna\.meier|4111111111111111(?!\.)/);
        const item = { output: redacted, arguments: redacted };
        expect(restoreValue(item, mappingOf(used))).toEqual({ output: text, arguments: text });
      }),
      { numRuns: 500 },
    );
  });

  it('with an escaped value stores the value without escapes', () => {
    const used = redactor();
    const text = used.maybeJson('{"to":"anna\\u0040example.org"}');
    const token = text.match(tokenPattern())![0];
    const item = { output: text, text: `Written to ${token}.`, arguments: `{"to":"${token}"}` };
    const shown = restoreValue(item, mappingOf(used));
    expect(shown.output).toBe('{"to":"anna\\u0040example.org"}');
    expect(shown.text).toBe('Written to anna@example.org.');
    expect(JSON.parse(shown.arguments)).toEqual({ to: 'anna@example.org' });
  });

  it('is found between hidden characters that are written as escapes', () => {
    const text =
      '{"a":"anna.meier\\u200b@example.org","b":"4111 1111 1111 1111\\udb40\\udc61","c":"4111\\udb40\\udc61 1111 1111 1111"}';
    const redacted = JSON.parse(redactor().maybeJson(text)) as Record<string, string>;
    expect(redacted['a']).toMatch(/^\[EMAIL_\w+\]$/);
    expect(redacted['b']).toMatch(/^\[CARD_\w+\]/);
    expect(redacted['c']).toMatch(/^\[CARD_\w+\]$/);
  });

  it('has a string for a number, which comes back as the number, also from a copy by a model', () => {
    const used = redactor();
    const text = used.maybeJson('{"card": 4111111111111111, "again": "4111111111111111"}');
    const read = JSON.parse(text) as { card: string; again: string };
    expect(read.card).toMatch(/^\[CARD_\w{12}\]$/);
    expect(read.again).not.toBe(read.card);
    const said = `{"a":"${read.card}","b":"${read.again}","c":"no. ${read.card}","${read.card}":"\\"${read.card}"}`;
    const shown = restoreValue({ arguments: said }, mappingOf(used));
    expect(JSON.parse(shown.arguments)).toEqual({
      a: 4111111111111111,
      b: '4111111111111111',
      c: 'no. 4111111111111111',
      '4111111111111111': '"4111111111111111',
    });
  });

  it('is read in linear time, for any numbers', () => {
    const cards = JSON.stringify(Array.from({ length: 20_000 }, () => 4111111111111111));
    const startedAt = performance.now();
    for (const text of [cards, `[${'7'.repeat(300_000)}, 4111111111111111]`]) {
      expect(redactor().maybeJson(text)).toContain('[CARD_');
    }
    // Quadratic time would take a minute.
    expect(performance.now() - startedAt).toBeLessThan(15_000);
  });

  it('of arguments stays JSON when a value holds quotes', () => {
    const token = '[NAME_aaaaaaaaaaaa]';
    const entry = { token, type: 'person' as const, count: 1, value: 'Ann "Sea" O\\Neil\n' };
    const item = { type: 'function_call', arguments: `{"to":"${token}"}`, name: token };
    const shown = restoreValue(item, new Map([[token, entry]]));
    expect(JSON.parse(shown.arguments)).toEqual({ to: entry.value });
    expect(shown.name).toBe(entry.value);
  });

  it('of a message keeps its citations at their marks', () => {
    const used = redactor();
    const said = 'Write to anna.meier@example.org [1] or +49 30 901820 [2].';
    const text = used.text(said);
    const annotations = [...text.matchAll(/\[\d\]/g)].map((match) => ({
      start_index: match.index,
      end_index: match.index + 3,
    }));
    const shown = restoreValue({ type: 'output_text', text, annotations }, mappingOf(used));
    expect(shown.text).toBe(said);
    expect(shown.annotations.map((a) => said.slice(a.start_index, a.end_index))).toEqual(['[1]', '[2]']);
  });
});

describe('a stream', () => {
  it('is restored delta by delta to the exact text, however the model splits it', () => {
    fc.assert(
      fc.property(texts, fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }), (text, cuts) => {
        const used = redactor();
        const redacted = used.text(text);
        const mapping = mappingOf(used);
        const guard = new TokenGuard();
        const pieces: string[] = [];
        for (let at = 0, i = 0; at < redacted.length; i += 1) {
          const length = cuts[i % cuts.length]!;
          pieces.push(guard.push(redacted.slice(at, at + length)));
          at += length;
        }
        pieces.push(guard.end());
        expect(pieces.join('')).toBe(redacted);
        const shown = pieces.map((delta, n) => {
          const type = 'response.output_text.delta';
          const line = JSON.stringify({ type, sequence_number: n, delta });
          return (JSON.parse(restoreLine(line, type, mapping)) as { delta: string }).delta;
        });
        expect(shown.join('')).toBe(text);
      }),
      { numRuns: 1_000 },
    );
  });

  it('is held back for no more than the longest token', () => {
    const guard = new TokenGuard();
    let waiting = 0;
    for (const character of `[EMAIL_${'a'.repeat(40)} [[[[NAME_`.repeat(3)) {
      waiting += 1 - guard.push(character).length;
      expect(waiting).toBeLessThan(21);
    }
  });

  it('passes a token on in one piece', () => {
    const guard = new TokenGuard();
    const token = tokenOf(secrets, 's', { kind: 'api_key', value: 'x' });
    const pieces = `To ${token}!`.split('').map((character) => guard.push(character));
    expect(pieces.filter((piece) => piece.includes('[') || piece.includes(']'))).toEqual([token]);
    expect(token).toMatch(tokenPattern());
  });
});
