type Encoding = 'utf-8' | 'utf-16le' | 'utf-16be';

/** Byte order marks. Spreadsheets and shells of Windows write UTF-16 with such a mark. */
const marks: readonly (readonly [Encoding, Buffer])[] = [
  ['utf-8', Buffer.from([0xef, 0xbb, 0xbf])],
  ['utf-16le', Buffer.from([0xff, 0xfe])],
  ['utf-16be', Buffer.from([0xfe, 0xff])],
];
const noMark = ['utf-8', Buffer.alloc(0)] as const;

function markOf(bytes: Buffer): readonly [Encoding, Buffer] {
  return marks.find(([, mark]) => bytes.subarray(0, mark.length).equals(mark)) ?? noMark;
}

/** Whether a file is text in UTF-8, or in UTF-16 with a byte order mark. */
export function isTextFile(bytes: Buffer): boolean {
  try {
    return !new TextDecoder(markOf(bytes)[0], { fatal: true }).decode(bytes).includes('\0');
  } catch {
    return false;
  }
}

/**
 * The text of a file without its byte order mark. Files are checked by `isTextFile` when they arrive; of older ones
 * what is no character is U+FFFD, and NULs are left out, between which personal data would not be found.
 */
export function decodeTextFile(bytes: Buffer): string {
  return new TextDecoder(markOf(bytes)[0]).decode(bytes).replaceAll('\0', '');
}

const dataUrl = /^(data:text\/[a-z0-9.+-]+;base64,)(.*)$/s;

/**
 * A data URL of a text with its text mapped, in the encoding that it had; unchanged bytes if the text is unchanged.
 * @returns null for other files
 */
export function mapTextFile(url: string, map: (text: string) => string): string | null {
  const [, head, data] = dataUrl.exec(url) ?? [];
  if (head === undefined || data === undefined) {
    return null;
  }
  const bytes = Buffer.from(data, 'base64');
  const text = decodeTextFile(bytes);
  const mapped = map(text);
  return mapped === text ? url : `${head}${encode(mapped, markOf(bytes)).toString('base64')}`;
}

function encode(text: string, [encoding, mark]: readonly [Encoding, Buffer]): Buffer {
  const bytes = Buffer.from(text, encoding === 'utf-8' ? 'utf8' : 'utf16le');
  return Buffer.concat([mark, encoding === 'utf-16be' ? bytes.swap16() : bytes]);
}
