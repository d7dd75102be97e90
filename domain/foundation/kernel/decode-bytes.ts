/** Encodings that `TextDecoder` does not have. */
const others: ReadonlyMap<string, (bytes: Uint8Array) => string> = new Map([
  ['utf-32le', (bytes) => decodeUtf32(bytes, true)],
  ['utf-32be', (bytes) => decodeUtf32(bytes, false)],
  ['iso-2022-kr', decodeIso2022Kr],
  ['ibm855', decodeIbm855],
]);
/** The characters of IBM855 beyond ASCII. */
const ibm855 =
  'ђЂѓЃёЁєЄѕЅіІїЇјЈљЉњЊћЋќЌўЎџЏюЮъЪаАбБцЦдДеЕфФгГ«»░▒▓│┤хХиИ╣║╗╝йЙ┐' +
  '└┴┬├─┼кК╚╔╩╦╠═╬¤лЛмМнНоОп┘┌█▄Пя▀ЯрРсСтТуУжЖвВьЬ№\u00ADыЫзЗшШэЭщЩчЧ§■\u00A0';
/** Code points that are made into text at once. */
const atOnce = 8_192;

/** @param encoding as `detectEncoding` names it */
export function decodeBytes(bytes: Uint8Array, encoding: string): string {
  return others.get(encoding)?.(bytes) ?? new TextDecoder(encoding).decode(bytes);
}

function decodeIbm855(bytes: Uint8Array): string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
  return text.replace(/[\u0080-\u00FF]/g, (character) => ibm855[character.charCodeAt(0) - 0x80] ?? '');
}

/** After its mark of the order of bytes; what is no character is U+FFFD. */
function decodeUtf32(bytes: Uint8Array, isLittle: boolean): string {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const parts: string[] = [];
  let codes: number[] = [];
  for (let at = 4; at + 4 <= bytes.byteLength; at += 4) {
    const code = view.getUint32(at, isLittle);
    codes.push(code > 0x10_ff_ff || (code >= 0xd8_00 && code <= 0xdf_ff) ? 0xff_fd : code);
    if (codes.length === atOnce) {
      parts.push(String.fromCodePoint(...codes));
      codes = [];
    }
  }
  return [...parts, String.fromCodePoint(...codes)].join('');
}

/** Its Korean characters are those of EUC-KR without their highest bits, between two control characters. */
function decodeIso2022Kr(bytes: Uint8Array): string {
  const plain = new Uint8Array(bytes.length);
  let [length, shifted] = [0, false];
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    const isDesignation =
      byte === 0x1b && bytes[at + 1] === 0x24 && bytes[at + 2] === 0x29 && bytes[at + 3] === 0x43;
    if (isDesignation) at += 3;
    else if (byte === 0x0e || byte === 0x0f) shifted = byte === 0x0e;
    else {
      if (byte === 0x0a) shifted = false;
      plain[length] = shifted && byte > 0x20 ? byte | 0x80 : byte;
      length += 1;
    }
  }
  return new TextDecoder('euc-kr').decode(plain.subarray(0, length));
}
