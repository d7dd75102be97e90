import { mulberry32 } from './model-script.ts';

export const kinds = ['email', 'phone', 'iban', 'card', 'ip', 'api_key'] as const;
export type Kind = (typeof kinds)[number];

/** A value that must not leave the platform, with the marker that identifies a text containing it. */
export interface Planted {
  mark: string;
  kind: Kind;
  value: string;
}

const random = mulberry32(20_261_121);
const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!;
const digits = (n: number): string => Array.from({ length: n }, () => Math.floor(random() * 10)).join('');
const letters = (n: number, from: string): string =>
  Array.from({ length: n }, () => pick(from.split(''))).join('');
const alphanumeric = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

function email(): string {
  const first = pick(['anna', 'j.berg', 'o.neil', 'maria-luz', 'k_sato', 'li', 'Ben.Q', 'zoë', 'm.müller']);
  const tag = pick(['', '', `+${digits(2)}`, digits(3)]);
  const host = pick([
    'example.org',
    'mail.example.com',
    'post.example.co.uk',
    'example.de',
    'bücher.example',
  ]);
  return `${first}${tag}@${host}`;
}

/** Six countries, in common notations: with blanks, dashes, brackets, or `00`. */
function phone(): string {
  const numbers = [
    () => pick([`+49 30 ${digits(4)} ${digits(4)}`, `+49 151 2${digits(7)}`, `0049 89 ${digits(7)}`]),
    () => pick([`+1 (212) 5${pick(['55', '36'])}-${digits(4)}`, `+1-415-7${digits(2)}-${digits(4)}`]),
    () => pick([`+44 7400 ${digits(6)}`, `+44 20 7946 ${digits(4)}`, `+44 (0)7400 ${digits(6)}`]),
    () =>
      pick([
        `+33 6 12 ${digits(2)} ${digits(2)} ${digits(2)}`,
        `+33.1.42.${digits(2)}.${digits(2)}.${digits(2)}`,
      ]),
    () => pick([`+91 98765 ${digits(5)}`, `+9198${digits(8)}`]),
    () => `+55 11 9${pick(['6', '7', '8'])}${digits(3)}-${digits(4)}`,
  ];
  return pick(numbers)();
}

function iban(): string {
  const made = pick([
    () => withCheckDigits('DE', digits(18)),
    () => withCheckDigits('GB', `NWBK${digits(14)}`),
    () => withCheckDigits('NL', `ABNA${digits(10)}`),
    () => withCheckDigits('AT', digits(16)),
    () => withCheckDigits('CH', digits(17)),
  ])();
  return pick([made, made.replace(/(.{4})(?=.)/g, '$1 ')]);
}

function withCheckDigits(country: string, account: string): string {
  const numbers = `${account}${country}00`
    .split('')
    .map((each) => Number.parseInt(each, 36))
    .join('');
  return `${country}${String(98n - (BigInt(numbers) % 97n)).padStart(2, '0')}${account}`;
}

function card(): string {
  const [first, length] = pick([
    ['4', 16],
    ['51', 16],
    ['37', 15],
    ['6011', 16],
    ['2221', 16],
  ] as const);
  const body = first + digits(length - first.length - 1);
  const number = body + luhn(body);
  return length === 16 ? pick([number, number.replace(/(.{4})(?=.)/g, pick(['$1 ', '$1-']))]) : number;
}

function luhn(body: string): string {
  const sum = body
    .split('')
    .toReversed()
    .reduce((total, each, i) => {
      const value = i % 2 === 0 ? Number(each) * 2 : Number(each);
      return total + (value > 9 ? value - 9 : value);
    }, 0);
  return String((10 - (sum % 10)) % 10);
}

function ip(): string {
  const part = () => 1 + Math.floor(random() * 250);
  const hex = () => letters(4, '123456789abcdef');
  return pick([
    () => `${pick([10, 172, 192, 203, 81])}.${part()}.${part()}.${part()}`,
    () => `2001:db8:${hex()}::${hex()}`,
    () => `fd00:${hex()}:${hex()}:${hex()}:${hex()}:${hex()}:${hex()}:${hex()}`,
  ])();
}

function apiKey(): string {
  return pick([
    () => `AKIA${letters(16, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567')}`,
    () => `ghp_${letters(36, alphanumeric)}`,
    () => `sk-proj-${letters(48, alphanumeric)}`,
    () => `xoxb-${digits(11)}-${digits(12)}-${letters(24, alphanumeric)}`,
    () => `AIza${letters(35, `${alphanumeric}_-`)}`,
    () => `sk_live_${letters(24, alphanumeric)}`,
    () => `ak.${letters(16, 'abcdefghijklmnopqrstuvwxyz0123456789')}.${letters(49, alphanumeric)}`,
  ])();
}

const makers: Record<Kind, () => string> = { email, phone, iban, card, ip, api_key: apiKey };

/** This many of each kind, all different, in turn. */
export function plant(ofEach: number): Planted[] {
  const seen = new Set<string>();
  return Array.from({ length: ofEach * kinds.length }, (_, i) => {
    const kind = kinds[i % kinds.length]!;
    let value = makers[kind]();
    while (seen.has(value)) value = makers[kind]();
    seen.add(value);
    return { mark: `Q${String(i).padStart(3, '0')}Z`, kind, value };
  });
}

const sentences: Record<Kind, readonly string[]> = {
  email: ['write to # please', 'mail: #.', 'contact <#>, then wait', 'is "#" right?'],
  phone: ['call # today', 'tel: #,', 'ring (#) after six', 'the number is #.'],
  iban: ['pay into # soon', 'account #.', 'IBAN: #, thanks', 'is it (#)?'],
  card: [
    'the card # expires',
    'charge #.',
    'number: #, no other',
    'is it (#)?',
    'pay by # 12/27',
    'the card # 123 is new',
    'take 3 # at once',
    'charge #, CVC 123',
  ],
  ip: ['seen from # lately', 'host #.', 'blocked: #, twice', 'is it (#)?'],
  api_key: ['the key # leaked', 'token: #,', 'is "#" valid?', 'rotate (#) now'],
};

export function sentenceOf({ mark, kind, value }: Planted): string {
  return `Ref ${mark}: ${pick(sentences[kind]).replace('#', () => value)}`;
}

/** Two hundred texts without personal data, with many near misses. */
export function cleanTexts(): string[] {
  const part = () => Math.floor(random() * 90) + 10;
  const makers = [
    () => `Order ${digits(8)} of ${part()} pieces ships on 2026-11-${part() % 28}.`,
    () => `Version ${part()}.${part()}.${part()} fixes issue #${digits(4)}.`,
    () => `The build v${part()}.0.${part()}.1 took ${digits(2)}:${part() % 60}:${part() % 60}.`,
    () => `Invoice 2026-${digits(6)}: ${digits(3)},${digits(3)}.${digits(2)} EUR for ${part()} hours.`,
    () => `Commit ${letters(40, '0123456789abcdef')} changed ${part()} files.`,
    () =>
      `Id ${letters(8, '0123456789abcdef')}-${letters(4, '0123456789abcdef')}-7${digits(3)}-a${digits(3)}-${digits(12)}.`,
    () => `ISBN 978-${digits(1)}-${digits(4)}-${digits(4)}-${digits(1)} has ${digits(3)} pages.`,
    () => `Use std::vector<int> or a::b, call f(${part()}, ${part()}) at line ${digits(4)}.`,
    () =>
      `The mole is ${digits(3)} m long, at 53°${part() % 60}'N 9°${part() % 60}'E; depth ${part()}.${part()} m.`,
    () => `Population: ${digits(2)} ${digits(3)} ${digits(3)} in ${1_900 + part()}.`,
    () => `Import @types/node and decorate with @Injectable(); see #${digits(5)}.`,
    () =>
      `Ratio ${part()}:${part()}, score ${digits(1)}-${digits(1)}, chapter ${part()}.${part()}.${part()}.`,
    () => `Timestamp 17${digits(8)}${digits(3)} was written ${part()} ms later.`,
    () => `Part no. ${digits(4)}-${digits(4)}-${digits(3)} fits model X${digits(3)}.`,
    () =>
      `Tides turn twice a day; the next high water is at ${part() % 24}:${part() % 60}, ${digits(1)}.${digits(1)} m.`,
    () => `Serial ${letters(10, 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789')} of batch ${digits(6)}.`,
    () => `SELECT * FROM t WHERE id = ${digits(9)} LIMIT ${part()} OFFSET ${digits(3)};`,
    () => `Temperature fell from ${part()}.5 to -${part()}.25 degrees within ${part()}0 minutes.`,
    () =>
      `Flight ${letters(2, 'ABCDEFGH')}${digits(4)} leaves gate ${part()} at ${part() % 24}.${part() % 60}.`,
    () => `Colour #${letters(6, '0123456789abcdef')} on ${digits(4)}x${digits(4)} pixels.`,
  ];
  return Array.from({ length: 200 }, (_, i) => makers[i % makers.length]!());
}
