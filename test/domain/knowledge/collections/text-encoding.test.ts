import { describe, expect, it } from 'vitest';
import { detectEncoding } from '#domain/knowledge/collections/text-encoding.ts';

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');
/** Bytes of sentences in older encodings. */
const russian1251 = hex('cff0e8e2e5f22c20eae0ea20e4e5ebe020f1e5e3eee4edff');
const russianKoi8 = hex('f0d2c9d7c5d42c20cbc1cb20c4c5ccc120d3c5c7cfc4ced1');
const japaneseSjis = hex('82b182ea82cd93fa967b8cea82cc95b68fcd82c582b78142');
const japaneseEucJp = hex('a4b3a4eca4cfc6fccbdcb8eca4cecab8becfa4c7a4b9a1a3');
const koreanEucKr = hex('c7d1b1b920bbe7b6f7c0ba20c0ccb7b8b0d420b8bbc7d1b4d9');
const chineseGb = hex('d5e2cac7d2bbb8f6d6d0cec4cec4b5b5a1a3cbfcd3d0bcb8b8f6d7d6a1a3');

describe('detectEncoding', () => {
  it.each([
    ['utf-8', Buffer.from('Grün')],
    ['utf-8', Buffer.from('\uFEFFA')],
    ['utf-16le', Buffer.from('\uFEFFA text', 'utf16le')],
    ['utf-16le', Buffer.from('A text without a mark', 'utf16le')],
    ['utf-16be', Buffer.from('A text without a mark', 'utf16le').swap16()],
    ['windows-1252', Buffer.from('Ein grüner Leuchtturm für Gäste', 'latin1')],
    ['windows-1251', russian1251],
    ['koi8-r', russianKoi8],
    ['shift_jis', japaneseSjis],
    ['euc-jp', japaneseEucJp],
    ['euc-kr', koreanEucKr],
    ['gb18030', chineseGb],
    ['iso-2022-jp', hex('1b2442243324681b2842')],
  ])('sees %s', (encoding, content) => {
    expect(detectEncoding(content)).toBe(encoding);
  });

  it.each([Buffer.from('a\0b'), hex('0102030405060708'), Buffer.alloc(1_000)])(
    'sees no text in %j',
    (content) => {
      expect(detectEncoding(content)).toBeNull();
    },
  );

  it('takes a character that is cut off at the end for a whole one', () => {
    expect(detectEncoding(Buffer.from('Gr\u00fc').subarray(0, 3))).toBe('utf-8');
  });
});
