import { describe, expect, it } from 'vitest';
import { formKinds, piiKinds } from '#domain/governance/recognition/pii-kinds.ts';
import { recognise } from '#domain/governance/recognition/recognise.ts';
import { shortest } from '../../../support/growth.ts';

/** As `card: 4111…`, in order. */
const foundIn = (text: string, phoneCountries: readonly 'DE'[] = []): string[] =>
  recognise(text, { kinds: piiKinds, phoneCountries }).map(
    ({ kind, start, end }) => `${kind}: ${text.slice(start, end)}`,
  );
const cards = ['4111 1111 1111 1111', '4111111111111111', '5500-0000-0000-0004', '378282246310005'];
const jwt = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmVkLWJ5LW5vYm9keQ';
const pem = `-----BEGIN RSA PRIVATE KEY-----
Proc-Type: 4,ENCRYPTED

${'MIIEowIBAAKCAQEA+/\n'.repeat(20)}-----END RSA PRIVATE KEY-----`;
const others = {
  card: '3782 822463 10005',
  iban: 'DE89 3704 0044 0532 0130 00',
  phone: '+49 30 901820',
  ip: '2001:db8::1',
  api_key: 'ghp_abcdefghijklmnopqrstuvwxyz0123456789',
  email: 'anna.meier@example.org',
};

/** The beginning of each shape. */
const openings = {
  card: ['1', '1 ', '4', '4111 ', '4111-', '4111 1111 1111 1112 ', '8 8', '12345678 ', '1.'],
  iban: ['DE', 'DE89', 'DE89 ', 'LC55', 'MT84   '],
  phone: ['+', '+49', '00', '00 ', '(', '(0', '1 ', '1,', '+49 30 1 ', '1x1'],
  ip: ['1.', '1.1.1.', ':', '::', 'a:', 'g:', 'a:b:c:1 ', '1:1.1.1', 'g'.repeat(20)],
  api_key: [
    ...'ak. ak.0123456789abcdef.a sk- sk_live_ whsec_ whsec_a AKIA ghp_ github_pat_ glpat-'.split(' '),
    ...'xoxb- xapp-1- AIza ya29. npm_ pypi- hf_ SG. SG.abcdefghijklmnop. dop_v1_ key-'.split(' '),
    ...'eyJ eyJabcdefgh eyJabcdefgh. .eyJ .eyJabcdefgh eyJabcdefgh.eyJ'.split(' '),
    '-----BEGIN ',
    '-----END ',
    '-----BEGIN PRIVATE KEY-----',
    '-----END PRIVATE KEY-----',
    '-----BEGIN PRIVATE KEY----------END PRIVATE KEY-----',
  ],
  email: ['@', '.@', '=@', 'a@', 'a@a', 'a@a.', 'a@xn--'],
};

/** The minimum of five runs, in ms, for 300,000 characters; the first short enough run decides. */
function fastest(kind: keyof typeof openings, repeated: string, enough = 0): number {
  const text = repeated.repeat(300_000 / repeated.length);
  let minLength = Infinity;
  for (let i = 0; i < 5 && minLength >= enough; i += 1) {
    minLength = Math.min(
      minLength,
      shortest(() => recognise(text, { kinds: [kind], phoneCountries: ['DE'] }), 1),
    );
  }
  return minLength;
}

describe('a card number', () => {
  it.each([
    '# 12/27',
    '# 12',
    '# 12.50 EUR',
    '# 2027-12-31',
    '12/27 #',
    '3 #',
    '2027 #',
    '1,#,123',
    '#,12/27',
    '#, CVC 123',
    '#\t12/27',
    '#\n12/27',
    '3\u00a0#\u202f12',
    '#-12',
    '# - 12/27',
  ])('is found, and nothing else, in: %s', (frame) => {
    for (const card of cards) {
      expect(foundIn(frame.replace('#', card))).toEqual([`card: ${card}`]);
    }
  });

  it('is found before a security code, which it may include where the number is valid with it, too', () => {
    for (const card of cards) {
      for (const code of ['123', '000', '4321', '999']) {
        const found = foundIn(`${card} ${code} x`);
        expect(found).toHaveLength(1);
        expect(found[0]?.startsWith(`card: ${card}`)).toBe(true);
      }
    }
  });

  it('is found beside another one', () => {
    for (const between of [' ', ', ', ',', '; ', '\n', '\t', ' / ']) {
      for (const second of cards) {
        expect(foundIn(`${cards[0]}${between}${second}`)).toEqual([`card: ${cards[0]}`, `card: ${second}`]);
      }
    }
  });

  it.each(['\t', '\u00a0', '\u202f', '\u2010', '\u2011', '\u2012', '\u2013', '  ', ' - '])(
    'is found with %j between its groups',
    (between) => {
      const card = cards[0]!.replaceAll(' ', between);
      expect(foundIn(`is ${card} it`)).toEqual([`card: ${card}`]);
      expect(foundIn(`is ${card} 12/27 it`)).toEqual([`card: ${card}`]);
    },
  );

  it('is not searched for within a longer number', () => {
    for (const around of ['41111111111111110000', '00004111111111111111', '0.4111111111111111']) {
      expect(foundIn(around)).toEqual([]);
      expect(foundIn(`order ${around} 12 of 3 pieces`)).toEqual([]);
    }
  });

  it('is not assembled from adjacent small numbers', () => {
    // The tenth to the twenty-fifth of these digits would be a valid card number.
    expect(foundIn('12 34 56 78 9 41 11 11 11 11 11 11 11 20 30 40')).toEqual([]);
  });

  it('is searched for in linear time in an endless row', () => {
    const startedAt = performance.now();
    for (const group of ['4', '41', '4111 ', '4111-', '411111 ', '4111111111111111 ', '4111111111111112 ']) {
      foundIn(group.repeat(20_000));
      foundIn(`${group.repeat(20_000)}x`);
    }
    // Quadratic time would take minutes.
    expect(performance.now() - startedAt).toBeLessThan(15_000);
  });

  it('is found after a row that is longer than the stack depth', () => {
    const text = `${'1 '.repeat(4_000_000)}, ${cards[0]}`;
    const found = recognise(text, { kinds: ['card'], phoneCountries: [] });
    expect(found.map(({ start, end }) => text.slice(start, end))).toEqual([cards[0]]);
  });
});

describe('each kind', () => {
  const frames = [
    '(#)',
    '"#"',
    '<#>',
    '[#]',
    '`#`',
    '**#**',
    '_#_',
    '„#“',
    'X:#',
    'IBAN: #',
    'X=#',
    '–#',
    '|#|',
  ];
  const marks = [
    '#.',
    '#!',
    '#,',
    '#: ',
    '#…',
    '#-',
    '# 5',
    '# 12/27',
    '3 #',
    '5\n#\n5',
    '5\t#\t5',
    '\u00a0#\u202f',
  ];

  it.each(Object.entries(others))('is found between what people type around it: %s', (kind, value) => {
    for (const frame of [...frames, ...marks]) {
      const text = frame.replace('#', value);
      const found = foundIn(text).filter((each) => each.startsWith(kind) && each.includes(value));
      expect(found, text).toHaveLength(1);
    }
  });

  it.each(['iban', 'phone'] as const)('is found with any blank or hyphen between its groups: %s', (kind) => {
    const betweens = ['\u00a0', '\u2009', '\u202f', '\u2010', '\u2011', '\u2012', '\u2013', '-', '  ', ' - '];
    for (const between of kind === 'iban' ? [...betweens, '\t', '\n', '\r\n'] : betweens) {
      const value = others[kind].replaceAll(' ', between);
      expect(foundIn(`is ${value} it`)).toEqual([`${kind}: ${value}`]);
    }
  });

  it.each([
    ['Tel:030 901820', 'phone: 030 901820'],
    ['Anna,030 901820,Berlin', 'phone: 030 901820'],
    ['ring 030\u202f901820 now', 'phone: 030\u202f901820'],
    ['call +1 212 555 1234x55', 'phone: +1 212 555 1234'],
    ['IPv6:2001:db8::1', 'ip: 2001:db8::1'],
    ['ping: 2001:db8::1: no route', 'ip: 2001:db8::1'],
    [`token_${others.api_key}`, `api_key: ${others.api_key}`],
    [`${others.api_key}-old`, `api_key: ${others.api_key}`],
    [`token_${jwt}`, `api_key: ${jwt}`],
    [`eyJ-${jwt}`, `api_key: eyJ-${jwt}`],
    [`x-${jwt} or`, `api_key: ${jwt}`],
    [`a key_${pem}_b`, `api_key: ${pem}`],
    [`${pem.slice(0, 99)} ${pem}`, `api_key: ${pem.slice(0, 99)} ${pem}`],
    [`${pem.slice(0, 99)}! ${pem}`, `api_key: ${pem}`],
    ['- AKIAIOSFODNN7EXAMPLE_prod', 'api_key: AKIAIOSFODNN7EXAMPLE'],
  ])('is found right behind a name, or before one: %s', (text, expected) => {
    expect(foundIn(text, ['DE'])).toEqual([expected]);
  });

  it.each([
    '{"id":12345678}',
    '12:30:15: done',
    'aa:bb:cc:dd:ee:ff:11:22:33:44:55:66:77:88:99:00: a fingerprint',
    'std::array<int,3>::f1',
    '/docs/en-sk-translation-of-the-long-title',
    `a${jwt}`,
    jwt.replace('.', ' '),
    '-----BEGIN PRIVATE KEY----- and -----END PRIVATE KEY-----',
  ])('is not found in a similar text: %s', (text) => {
    expect(foundIn(text, ['DE'])).toEqual([]);
  });

  it.each(formKinds)('takes no order of magnitude longer over texts that only begin like it: %s', (kind) => {
    const all = kind === 'api_key' ? `${others[kind]} ${jwt} ${pem} ` : `${others[kind]} `;
    // Some take so little that the machine's noise is more. Quadratic time would be minutes.
    const atMost = Math.max(150, 10 * fastest(kind, all));
    for (const opening of openings[kind]) {
      for (const before of ['-', '_']) {
        expect(fastest(kind, before + opening, atMost), before + opening).toBeLessThan(atMost);
      }
    }
  });
});
