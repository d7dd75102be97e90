import { singleByteEncoding } from './single-byte-encoding.ts';

/** Share of control characters above which bytes are not text. */
const maxControls = 0.01;
const sampleBytes = 65_536;
/** Share of the characters beyond ASCII. */
const maxDamaged = 0.05;

/**
 * The encoding of a text, as `decodeBytes` takes it: by its byte order mark, its NULs, its validity as UTF-8, and for
 * older encodings by the letters that it would hold. A character cut off at the end is ignored.
 * @returns null for content that is not text
 */
export function detectEncoding(content: Uint8Array): string | null {
  const beginning = content.subarray(0, sampleBytes);
  const marked = markOf(beginning) ?? wideEncoding(beginning);
  if (marked !== null) {
    return marked;
  }
  if (isIso2022Kr(beginning)) {
    return 'iso-2022-kr';
  }
  if (hasControls(beginning)) {
    return beginning.includes(0) || !isIso2022(beginning) ? null : 'iso-2022-jp';
  }
  const bytes = lettersOf(content);
  if (decodes(bytes, 'utf-8')) {
    return isIso2022(beginning) ? 'iso-2022-jp' : 'utf-8';
  }
  if (isDamagedUtf8(bytes)) {
    return 'utf-8';
  }
  // An umlaut and the letter after it may be a character of Chinese, too.
  const { encoding, isCertainlyLatin } = singleByteEncoding(bytes);
  return isCertainlyLatin ? encoding : (eastAsian(bytes) ?? encoding);
}

/**
 * What the older encodings differ in: the beginning, or where the first letters beyond ASCII come later, the text from
 * them on.
 */
function lettersOf(content: Uint8Array): Uint8Array {
  let first = 0;
  while (first < content.length && (content[first] ?? 0) < 0x80) first += 1;
  if (first < sampleBytes || first === content.length) {
    return content.subarray(0, sampleBytes);
  }
  const from = first - (first % 2);
  return content.subarray(from, from + sampleBytes);
}

function markOf([a, b, c, d]: Uint8Array): string | null {
  if (a === 0xff && b === 0xfe && c === 0 && d === 0) return 'utf-32le';
  if (a === 0 && b === 0 && c === 0xfe && d === 0xff) return 'utf-32be';
  if (a === 0xef && b === 0xbb && c === 0xbf) return 'utf-8';
  if (a === 0xff && b === 0xfe) return 'utf-16le';
  return a === 0xfe && b === 0xff ? 'utf-16be' : null;
}

/** UTF-16 without a mark: every other byte of Latin text is NUL. */
function wideEncoding(bytes: Uint8Array): string | null {
  const nuls = [0, 0];
  for (const [index, byte] of bytes.entries()) {
    if (byte === 0) nuls[index % 2] = (nuls[index % 2] ?? 0) + 1;
  }
  const [even = 0, odd = 0] = nuls;
  const pairs = bytes.length / 2;
  if (pairs < 2 || Math.max(even, odd) < pairs * 0.3 || Math.min(even, odd) > pairs * 0.02) {
    return null;
  }
  return odd > even ? 'utf-16le' : 'utf-16be';
}

function hasControls(bytes: Uint8Array): boolean {
  let controls = 0;
  for (const byte of bytes) {
    if (byte === 0) return true;
    if (byte < 0x20 && (byte < 0x09 || byte > 0x0d)) controls += 1;
  }
  return controls > Math.max(1, bytes.length * maxControls);
}

/** Escape sequences that switch to Japanese characters. */
function isIso2022(bytes: Uint8Array): boolean {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).includes('\u001b$B', 0, 'latin1');
}

/** The escape sequence that stands before the first Korean character, once. */
function isIso2022Kr(bytes: Uint8Array): boolean {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  return text.includes('\u001b$)C', 0, 'latin1') && text.includes('\u000e', 0, 'latin1');
}

/** A text in UTF-8 with a few bytes of another encoding or a character that was cut. */
function isDamagedUtf8(bytes: Uint8Array): boolean {
  const text = new TextDecoder().decode(bytes, { stream: true });
  const foreign = text.match(/[^\0-\u007f]/g)?.length ?? 0;
  return (text.match(/\uFFFD/g)?.length ?? 0) < foreign * maxDamaged;
}

function eastAsian(bytes: Uint8Array): string | null {
  const kana = (text: string) => share(text, /[\u3041-\u30ff]/g);
  const hangul = (text: string) => share(text, /[\uac00-\ud7a3]/g);
  const chinese = (text: string) => share(text, /[\u4e00-\u9fff\u3000-\u303f\uff00-\uff65]/g);
  /** Standards of Chinese begin with the characters that nearly all of a text consists of. */
  const common = (from: number, to: number) => (text: string) =>
    commonPairs(bytes, from, to) < 0.75 ? 0 : chinese(text);
  const candidates = [
    ['shift_jis', kana, 0.2],
    ['euc-jp', kana, 0.2],
    ['euc-kr', hangul, 0.6],
    ['gb18030', common(0xb0, 0xd7), 0.9],
    ['big5', common(0xa4, 0xc6), 0.9],
  ] as const;
  const fits = candidates.find(([encoding, scoreOf, min]) => {
    const text = decodes(bytes, encoding) ? new TextDecoder(encoding).decode(bytes, { stream: true }) : '';
    return scoreOf(text) >= min;
  });
  return fits?.[0] ?? null;
}

/** Share of the pairs of bytes that begin with one of these, or are punctuation. */
function commonPairs(bytes: Uint8Array, from: number, to: number): number {
  let [pairs, found] = [0, 0];
  for (let at = 0; at < bytes.length; at += 1) {
    const lead = bytes[at] ?? 0;
    if (lead < 0x80) continue;
    pairs += 1;
    if ((lead >= from && lead <= to) || (lead >= 0xa1 && lead <= 0xa3)) found += 1;
    at += 1;
  }
  return pairs === 0 ? 0 : found / pairs;
}

/** Share of the characters beyond ASCII that `pattern` finds; 0 for too few of them. */
function share(text: string, pattern: RegExp): number {
  const foreign = text.match(/[^\0-\u007f]/g)?.length ?? 0;
  return foreign < 6 ? 0 : (text.match(pattern)?.length ?? 0) / foreign;
}

function decodes(bytes: Uint8Array, encoding: string): boolean {
  try {
    new TextDecoder(encoding, { fatal: true }).decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}
