import { describe, expect, it } from 'vitest';
import { piiKinds } from '#domain/governance/recognition/pii-kinds.ts';
import { Redactor } from '#domain/governance/redaction/redact.ts';
import { restoreJsonText, restoreText, restoreValue } from '#domain/governance/redaction/restore.ts';
import { readableSentences } from '#adapters/models/builtin-sentences.ts';
import { withoutHidden } from '#domain/foundation/kernel/hidden-text.ts';
import { Secrets } from '#domain/foundation/kernel/secrets.ts';
import { attackStrings, expectLinear } from '../../../support/growth.ts';

const countries = ['DE', 'FR', 'GB', 'US', 'IT', 'ES', 'NL', 'BE', 'AT', 'CH'] as const;
const options = {
  secrets: new Secrets(Buffer.alloc(32, 1).toString('base64')),
  scope: 'a',
  tokens: 'foreign' as const,
  kinds: piiKinds,
  phoneCountries: [...countries, 'PL', 'SE', 'NO', 'DK', 'FI', 'PT', 'IE', 'CZ', 'GR', 'HU'] as const,
};

const each = (size: number, make: (n: number) => string) => {
  const parts: string[] = [];
  for (let length = 0; length < size; length += parts.at(-1)!.length) parts.push(make(parts.length));
  return parts.join('');
};
const texts: Record<string, (size: number) => string> = {
  ...attackStrings,
  addresses: (size) => each(size, (n) => `a${n}@b${n % 97}.example `),
  'numbers with country code': (size) => each(size, (n) => `+4930${1_000_000 + n} `),
  'numbers without': (size) => each(size, (n) => `030 ${1_000_000 + n} `),
  hosts: (size) => each(size, (n) => `10.1.${n % 200}.${n % 250} `),
  'addresses beside tokens': (size) => each(size, () => 'a@b.de [EMAIL_aaaaaaaaaaaa] '),
  'numbers of a JSON document': (size) => `[${each(size, (n) => `${4_930_123_000_000 + n},`)}1]`,
};

describe('time is linear in the text, for any text', () => {
  it.each(Object.entries(texts))('%j is redacted', (name, make) => {
    const redact = (text: string) => new Redactor(options).maybeJson(text);
    const within = (size: number) => JSON.stringify({ a: make(size) });
    expectLinear(`Redaction of ${name}`, { make, work: redact, size: 8_000 });
    expectLinear(`Redaction of JSON with ${name}`, { make: within, work: redact, size: 8_000 });
  });

  it.each(Object.entries(texts))('%j is restored, and split into sentences', (name, make) => {
    const known = new Map([['[EMAIL_aaaaaaaaaaaa]', { value: 'a@b.de' }]]);
    const restore = (text: string) => [restoreText(text, known), restoreJsonText(text, known)];
    expectLinear(`Restoring ${name}`, { make, work: restore, size: 10_000 });
    expectLinear(`Cleaning ${name}`, { make, work: withoutHidden, size: 10_000 });
    expectLinear(`Sentences of ${name}`, { make, work: readableSentences, size: 8_000 });
  });

  it('many citations of one text are placed in one pass', () => {
    const token = '[EMAIL_aaaaaaaaaaaa]';
    const known = new Map([[token, { value: 'a@b.de' }]]);
    const make = (size: number) => ({
      text: token.repeat(size),
      annotations: Array.from({ length: size }, (_, n) => ({ start_index: n * 20, end_index: n * 20 + 20 })),
    });
    expectLinear('Placing', { make, work: (value) => restoreValue(value, known), size: 6_000 });
    const { annotations } = restoreValue(make(3), known);
    expect(annotations.map((annotation) => annotation.start_index)).toEqual([0, 6, 12]);
  });
});
