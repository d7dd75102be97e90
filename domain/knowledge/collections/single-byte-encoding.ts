import { decodeBytes } from '#domain/foundation/kernel/decode-bytes.ts';
import { singleByteEncodings, type Alphabet } from './letter-frequencies.ts';

/** Characters beyond ASCII that are weighed. */
const maxWeighed = 4_000;
/** Mean gain of a character from which the letters are beyond doubt those of a Latin language. */
const certain = 0.7;
/** Signs that texts of every language have, and those that stand within words. */
const signs = '\u00A0\u00AD“”„‘’‚«»‹›–—…•·°§©®™€£№¿¡±×÷½¼¾²³ªº†‡‰';
const joining = '\u00A0\u00AD’‘–—…·';

/** No letter, a small one, a capital, a letter that is neither. */
type Kind = 0 | 1 | 2 | 3;

/** How an encoding and a language see each byte. */
interface View {
  encoding: string;
  isLatin: boolean;
  kinds: readonly Kind[];
  gains: readonly number[];
  joins: readonly boolean[];
}

let views: readonly View[] | null = null;

/**
 * The encoding in which a text is most likely words of a language: its letters are those of one language, the frequent
 * ones are frequent, no capital follows a small letter, and no foreign script or sign stands within a word.
 */
export function singleByteEncoding(bytes: Uint8Array): { encoding: string; isCertainlyLatin: boolean } {
  const places: number[] = [];
  for (let at = 0; at < bytes.length && places.length < maxWeighed; at += 1) {
    if ((bytes[at] ?? 0) >= 0x80) places.push(at);
  }
  views ??= singleByteEncodings.flatMap(([encoding, alphabets]) => viewsOf(encoding, alphabets));
  let best = { encoding: 'windows-1252', isLatin: true, score: -Infinity };
  for (const view of views) {
    const score = places.reduce((sum, at) => sum + gainAt(bytes, at, view), 0);
    if (score > best.score + 1e-6) best = { ...view, score };
  }
  const { encoding, isLatin, score } = best;
  return { encoding, isCertainlyLatin: isLatin && score > places.length * certain };
}

function gainAt(bytes: Uint8Array, at: number, { isLatin, kinds, gains, joins }: View): number {
  const [byte = 0, before = 0, after = 0] = [bytes[at], bytes[at - 1], bytes[at + 1]];
  const [kind, left, right] = [kinds[byte], kinds[before], kinds[after]];
  let gain = gains[byte] ?? 0;
  if (kind === 0) return left !== 0 && right !== 0 && joins[byte] !== true ? gain - 1 : gain;
  if (kind === 2 && left === 1) gain -= 1.5;
  if (kind === 1 && right === 2 && after < 0x80) gain -= 1.5;
  if (isDigit(before) || isDigit(after)) gain -= 1.5;
  const isBeyond = (code: number, other: Kind | undefined) => code >= 0x80 && other !== 0;
  const isAlone = left === 0 && right === 0;
  if (isLatin) return isAlone || (isBeyond(before, left) && isBeyond(after, right)) ? gain - 1 : gain;
  const isAscii = (code: number, other: Kind | undefined) => code < 0x80 && other !== 0;
  return gain - (isAscii(before, left) ? 1 : 0) - (isAscii(after, right) ? 1 : 0);
}

const isDigit = (byte: number): boolean => byte >= 0x30 && byte <= 0x39;

function viewsOf(encoding: string, alphabets: readonly Alphabet[]): View[] {
  const bytes = Uint8Array.from({ length: 256 }, (_, byte) => byte);
  const characters = Array.from(decodeBytes(bytes, encoding));
  const kinds = characters.map(kindOf);
  return alphabets.map((alphabet) => ({
    encoding,
    isLatin: !alphabet.ranked,
    kinds,
    gains: characters.map((character) => gainOf(character, alphabet)),
    joins: characters.map((character) => joining.includes(character)),
  }));
}

function kindOf(character: string): Kind {
  if (/\p{Ll}/u.test(character)) return 1;
  if (/\p{Lu}/u.test(character)) return 2;
  return /[\p{L}\p{M}]/u.test(character) ? 3 : 0;
}

function gainOf(character: string, { letters, ranked }: Alphabet): number {
  if (kindOf(character) !== 0) {
    const found = [letters.indexOf(character), letters.indexOf(character.toLowerCase())];
    const rank = Math.max(...found);
    if (rank === -1) return -2;
    return ranked ? 1.5 - (3 * rank) / letters.length : 1;
  }
  if (signs.includes(character)) return 0;
  return /[\uFFFD\u0080-\u009F]/.test(character) ? -3 : -1.5;
}
