import { describe, expect, it } from 'vitest';
import { decodeBytes } from '#domain/foundation/kernel/decode-bytes.ts';
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

  it.each([
    [
      'windows-1250',
      'Příliš žluťoučký kůň úpěl ďábelské ódy',
      '50f8ed6c699a209e6c759d6f75e86bfd206bf9f220fa70ec6c20efe162656c736be920f36479',
    ],
    [
      'windows-1250',
      'Árvíztűrő tükörfúrógép, és őrült nők',
      'c17276ed7a74fb72f52074fc6bf67266fa72f367e9702c20e97320f572fc6c74206ef56b',
    ],
    [
      'iso-8859-2',
      'Zażółć gęślą jaźń, wszyscy są tu świadkami',
      '5a61bff3b3e62067eab66cb1206a61bcf12c2077737a797363792073b120747520b6776961646b616d69',
    ],
    [
      'windows-1254',
      'Işıklı bir şehir, çağdaş insanlar için değil',
      '49fefd6b6cfd2062697220fe656869722c20e761f06461fe20696e73616e6c61722069e7696e206465f0696c',
    ],
    [
      'windows-1255',
      'זה לא סוד שהמגדלור הזה צבוע בכחול',
      'e6e420ece020f1e5e320f9e4eee2e3ece5f820e4e6e420f6e1e5f220e1ebe7e5ec',
    ],
    [
      'windows-1256',
      'المنارة مطلية باللون الأزرق منذ عام',
      'c7e1e3e4c7d1c920e3d8e1edc920c8c7e1e1e6e420c7e1c3d2d1de20e3e4d020dac7e3',
    ],
    [
      'windows-874',
      'ประภาคารนี้ทาสีฟ้าตั้งแต่ปีที่แล้ว',
      'bbc3d0c0d2a4d2c3b9d5e9b7d2cad5bfe9d2b5d1e9a7e1b5e8bbd5b7d5e8e1c5e9c7',
    ],
    [
      'windows-1253',
      'Ο φάρος είναι βαμμένος μπλε από πέρυσι',
      'cf20f6dcf1eff220e5dfede1e920e2e1ececddedeff220ecf0ebe520e1f0fc20f0ddf1f5f3e9',
    ],
    [
      'iso-8859-5',
      'Маяк покрашен в синий цвет ещё в прошлом году',
      'bcd0efda20dfdedae0d0e8d5dd20d220e1d8ddd8d920e6d2d5e220d5e9f120d220dfe0dee8dbdedc20d3ded4e3',
    ],
    [
      'ibm866',
      'Маяк покрашен в синий цвет ещё в прошлом году',
      '8ca0efaa20afaeaae0a0e8a5ad20a220e1a8ada8a920e6a2a5e220a5e9f120a220afe0aee8abaeac20a3aea4e3',
    ],
    [
      'ibm855',
      'Маяк покрашен в синий цвет ещё в прошлом году',
      'd3a0dec620d8d6c6e1a0f5a8d420eb20e3b7d4b7bd20a4eba8e520a8f98420eb20d8e1d6f5d0d6d220acd6a6e7',
    ],
    [
      'x-mac-cyrillic',
      'Маяк Халдена Покрашен в синий цвет ещё в прошлом году',
      '8ce0dfea2095e0ebe4e5ede0208feeeaf0e0f8e5ed20e220f1e8ede8e920f6e2e5f220e5f9de20e220eff0eef8ebeeec20e3eee4f3',
    ],
    [
      'macintosh',
      'Le phare a été repeint en bleu très foncé à la fin',
      '4c652070686172652061208e748e2072657065696e7420656e20626c65752074728f7320666f6e638e2088206c612066696e',
    ],
    [
      'windows-1251',
      '<p class="lead"><a href="/harbour/beacon.html">Маяк</a></p><div id="footer">Порт</div>',
      '3c7020636c6173733d226c656164223e3c6120687265663d222f686172626f75722f626561636f6e2e68746d6c223ecce0ffea3c2f613e3c2f703e3c6469762069643d22666f6f746572223ecfeef0f23c2f6469763e',
    ],
    [
      'windows-1252',
      'Die Schüler gehören für Übungen zur Fördergruppe; Mädchen hören Töne',
      '44696520536368fc6c657220676568f672656e2066fc7220dc62756e67656e207a75722046f6726465726772757070653b204de4646368656e2068f672656e2054f66e65',
    ],
    ['windows-1252', 'Lift £825, ±5 °C, café', '4c69667420a33832352c20b13520b0432c20636166e9'],
  ])('sees %s, an encoding of one byte a character, in “%s”', (encoding, text, bytes) => {
    expect(decodeBytes(hex(bytes), detectEncoding(hex(bytes)) ?? '')).toBe(text);
    expect(detectEncoding(hex(bytes))).toBe(encoding);
  });

  it('looks at the first letters beyond ASCII, however late they come', () => {
    const late = Buffer.concat([Buffer.alloc(200_000, 'a beacon '), Buffer.from('für Gäste', 'latin1')]);
    expect(detectEncoding(late)).toBe('windows-1252');
  });

  it.each([0, 1])('sees UTF-16 by the beginning also where other letters come late (%i)', (more) => {
    const late = Buffer.from(`${'a beacon '.repeat(10_000 + more)}Grüße`, 'utf16le');
    expect(detectEncoding(late)).toBe('utf-16le');
    expect(detectEncoding(Buffer.from(late).swap16())).toBe('utf-16be');
  });

  it('sees no text in bytes that begin with NULs, whatever follows', () => {
    const mixed = Buffer.concat([Buffer.alloc(70_000), Buffer.from('Grüße für Gäste. '.repeat(5_000))]);
    expect(detectEncoding(mixed)).toBeNull();
  });

  it('stays with UTF-8 where a few bytes are damaged', () => {
    const damaged = Buffer.concat([Buffer.from('Grüße für Gäste. '.repeat(20)), Buffer.from([0xe4, 0x20])]);
    expect(detectEncoding(damaged)).toBe('utf-8');
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
