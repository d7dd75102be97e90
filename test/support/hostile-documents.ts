import { deflateSync } from 'node:zlib';
import type {
  DocumentFailureCode,
  DocumentMediaType,
} from '#domain/knowledge/collections/document-status.ts';
import { zipOf, type ZipEntry } from './zip-writer.ts';

export interface HostileDocument {
  name: string;
  make: () => Buffer;
  declared?: DocumentMediaType;
  /** What it may end with; `read` is to be read within the limits. */
  ends: readonly (DocumentFailureCode | 'read')[];
}

const mebibyte = 1_048_576;
const docx = (document: string, more: ZipEntry[] = []) =>
  zipOf([{ name: 'word/document.xml', content: document }, ...more]);
const body = (paragraphs: string) => `<w:document xmlns:w="w"><w:body>${paragraphs}</w:body></w:document>`;
const word = (text: string) => `<w:p><w:r><w:t>${text}</w:t></w:r></w:p>`;
const bomb = () => docx(body(word('a '.repeat(60 * mebibyte))));

function xlsx(sheet: string, shared = ''): Buffer {
  const rel = (id: string, type: string, target: string) =>
    `<Relationship Id="${id}" Type="http://x/${type}" Target="${target}"/>`;
  return zipOf([
    { name: 'xl/workbook.xml', content: '<workbook><sheets><sheet name="A" r:id="r1"/></sheets></workbook>' },
    {
      name: 'xl/_rels/workbook.xml.rels',
      content: `<Relationships>${rel('r1', 'worksheet', 'sheet.xml')}${rel('r2', 'sharedStrings', 'shared.xml')}</Relationships>`,
    },
    { name: 'xl/sheet.xml', content: `<worksheet><sheetData>${sheet}</sheetData></worksheet>` },
    { name: 'xl/shared.xml', content: `<sst>${shared}</sst>` },
  ]);
}

function ods(rows: string): Buffer {
  const type = 'application/vnd.oasis.opendocument.spreadsheet';
  const content = `<office:document-content><office:body><office:spreadsheet><table:table table:name="A">${rows}</table:table></office:spreadsheet></office:body></office:document-content>`;
  return zipOf([
    { name: 'mimetype', content: type },
    { name: 'content.xml', content },
  ]);
}

function epub(spine: string): Buffer {
  return zipOf([
    { name: 'META-INF/container.xml', content: '<container><rootfile full-path="a.opf"/></container>' },
    {
      name: 'a.opf',
      content: `<package><manifest><item id="c" href="c.xhtml"/></manifest><spine>${spine}</spine></package>`,
    },
    { name: 'c.xhtml', content: `<html><body><h1>One</h1><p>${'Text. '.repeat(2_000)}</p></body></html>` },
  ]);
}

/** A PDF file of these objects, without a table of their places, which readers then restore. */
function pdf(objects: readonly (string | Buffer)[]): Buffer {
  const parts = objects.flatMap((object, index) => [`${index + 1} 0 obj\n`, object, '\nendobj\n']);
  const end = 'trailer\n<< /Root 1 0 R /Size 99 >>\nstartxref\n0\n%%EOF\n';
  return Buffer.concat(['%PDF-1.7\n', ...parts, end].map((part) => Buffer.from(part)));
}
const streamOf = (dictionary: string, content: Buffer) =>
  Buffer.concat([
    Buffer.from(`<< ${dictionary} /Length ${content.length} >>\nstream\n`),
    content,
    Buffer.from('\nendstream'),
  ]);
const pageWith = (resources: string, content: string | Buffer): (string | Buffer)[] => [
  '<< /Type /Catalog /Pages 2 0 R >>',
  '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
  `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R /Resources << ${resources} >> >>`,
  typeof content === 'string' ? streamOf('', Buffer.from(content)) : content,
];

const head = 'From: a@example.com\r\nTo: b@example.com\r\nSubject: A\r\nMIME-Version: 1.0\r\n';
function mail(parts: readonly string[]): Buffer {
  const all = parts.map((part) => `--b\r\n${part}\r\n`).join('');
  return Buffer.from(`${head}Content-Type: multipart/mixed; boundary=b\r\n\r\n${all}--b--\r\n`);
}
const attachment = (content: Buffer) =>
  `Content-Type: application/octet-stream; name=a.bin\r\nContent-Disposition: attachment; filename=a.bin\r\nContent-Transfer-Encoding: base64\r\n\r\n${content.toString('base64')}`;
function nestedMail(depth: number): string {
  const inner = depth === 0 ? 'Text.' : nestedMail(depth - 1);
  return `${head}Content-Type: ${depth === 0 ? 'text/plain' : 'message/rfc822'}\r\n\r\n${inner}`;
}

const mixed = (count: number, unit: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => unit(n)).join('');

export const hostileDocuments: readonly HostileDocument[] = [
  { name: 'a DOCX of 120 MiB in 1', make: bomb, ends: ['too_large'] },
  {
    name: 'a DOCX whose directory lies about its size',
    make: () =>
      zipOf([
        { name: 'word/document.xml', content: body(word('a'.repeat(90 * mebibyte))), declaredSize: 999 },
      ]),
    ends: ['too_large', 'malformed'],
  },
  {
    name: 'ZIP files in a ZIP file',
    make: () => zipOf([{ name: 'a.zip', content: zipOf([{ name: 'a.docx', content: bomb() }]) }]),
    ends: ['unsupported_format'],
  },
  {
    name: 'a DOCX of 20,000 entries',
    make: () =>
      docx(
        body(word('A.')),
        Array.from({ length: 20_000 }, (_, n) => ({ name: `word/${n}.xml`, content: '' })),
      ),
    ends: ['too_large'],
  },
  {
    name: 'a DOCX with a name outside of its folder',
    make: () => docx(body(word('A.')), [{ name: '../../a', content: 'a' }]),
    ends: ['malformed'],
  },
  { name: 'XML of 100,000 levels', make: () => docx(body('<w:p>'.repeat(100_000))), ends: ['malformed'] },
  {
    name: 'XML whose entities grow',
    make: () =>
      docx(
        `<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa">${mixed(9, (n) => `<!ENTITY a${n} "${`&a${n === 0 ? '' : n - 1};`.repeat(10)}">`)}]>${body(word('&a8;'))}`,
      ),
    ends: ['read'],
  },
  {
    name: 'XML of declarations that do not end',
    make: () => docx('<!a>'.repeat(2_000_000)),
    ends: ['empty_document', 'malformed'],
  },
  {
    name: 'an XLSX of a million cells',
    make: () => xlsx(mixed(20_000, (n) => `<row r="${n + 1}">${'<c><v>1.5</v></c>'.repeat(50)}</row>`)),
    ends: ['read', 'too_large', 'too_slow'],
  },
  {
    name: 'an XLSX with a large string in every cell',
    make: () =>
      xlsx(
        mixed(9_000, () => '<row><c t="s"><v>0</v></c></row>'),
        `<si><t>${'a '.repeat(200_000)}</t></si>`,
      ),
    ends: ['too_large'],
  },
  {
    name: 'an ODS of billions of repeated cells',
    make: () =>
      ods(
        `<table:table-row table:number-rows-repeated="999999999"><table:table-cell table:number-columns-repeated="999999999"><text:p>A</text:p></table:table-cell></table:table-row>`.repeat(
          1_000,
        ),
      ),
    ends: ['read', 'too_large', 'too_slow'],
  },
  {
    name: 'an EPUB with one chapter 100,000 times',
    make: () => epub('<itemref idref="c"/>'.repeat(100_000)),
    ends: ['read'],
  },
  {
    name: 'an image named a PDF',
    make: () => Buffer.from('89504e470d0a1a0a0000', 'hex'),
    declared: 'application/pdf',
    ends: ['unsupported_format'],
  },
  {
    name: 'a program named a text',
    make: () => Buffer.concat([Buffer.from('\x7fELF\x02\x01\x01\0\0\0\0'), Buffer.alloc(5_000, 3)]),
    ends: ['unsupported_format'],
  },
  { name: 'zeros', make: () => Buffer.alloc(100 * mebibyte), ends: ['unsupported_format'] },
  {
    name: 'a DOCX without its end',
    make: () => docx(body(word('A.'))).subarray(0, -30),
    ends: ['malformed'],
  },
  {
    name: 'a DOCX with an encrypted entry',
    make: () => zipOf([{ name: 'word/document.xml', content: 'a', encrypted: true }]),
    ends: ['encrypted'],
  },
  {
    name: 'an encrypted Office package',
    make: () =>
      Buffer.concat([
        Buffer.from('d0cf11e0a1b11ae1', 'hex'),
        Buffer.alloc(2_000),
        Buffer.from('EncryptedPackage', 'utf16le'),
      ]),
    ends: ['encrypted'],
  },
  {
    name: 'a PDF without its second half',
    make: () => pdf(pageWith('', '(A) Tj')).subarray(0, 120),
    ends: ['malformed', 'empty_document'],
  },
  {
    name: 'a PDF whose pages are their own children',
    make: () =>
      pdf([
        '<< /Type /Catalog /Pages 2 0 R >>',
        '<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 99999999 /Parent 2 0 R >>',
      ]),
    ends: ['malformed', 'too_slow', 'empty_document'],
  },
  {
    name: 'a PDF whose forms show each other',
    make: () =>
      pdf([
        ...pageWith('/XObject << /A 5 0 R >>', '/A Do /A Do'),
        streamOf(
          '/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /A 5 0 R >> >>',
          Buffer.from('/A Do /A Do /A Do'),
        ),
      ]),
    ends: ['malformed', 'too_slow', 'too_large', 'empty_document'],
  },
  {
    name: 'a PDF page of 600 MiB in 1',
    make: () =>
      pdf(
        pageWith(
          '',
          streamOf(
            '/Filter [/FlateDecode /FlateDecode]',
            deflateSync(deflateSync(Buffer.alloc(600 * mebibyte, 32), { level: 1 })),
          ),
        ),
      ),
    ends: ['malformed', 'too_slow', 'too_large', 'empty_document'],
  },
  {
    name: 'JSON of a million levels',
    make: () => Buffer.from('['.repeat(1_000_000) + ']'.repeat(1_000_000)),
    declared: 'application/json',
    ends: ['malformed'],
  },
  {
    name: 'JSON of 5,000 objects in each other',
    make: () => Buffer.from(`${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`),
    ends: ['malformed'],
  },
  {
    name: 'markdown of brackets',
    make: () => Buffer.from('[a]('.repeat(400_000)),
    declared: 'text/markdown',
    ends: ['read', 'too_slow'],
  },
  {
    name: 'markdown of quotes in quotes',
    make: () => Buffer.from(`${'> '.repeat(200)}a\n`.repeat(20_000)),
    declared: 'text/markdown',
    ends: ['read', 'too_slow', 'too_large'],
  },
  {
    name: 'markdown of five million headings',
    make: () => Buffer.from('# a\n'.repeat(4_900_000)),
    declared: 'text/markdown',
    ends: ['too_slow', 'too_large', 'empty_document'],
  },
  {
    name: 'HTML of 50,000 open elements',
    make: () => Buffer.from('<div>'.repeat(50_000)),
    declared: 'text/html',
    ends: ['empty_document'],
  },
  {
    name: 'HTML of 30 MiB of unclosed comments',
    make: () => Buffer.from(`<p>A</p>${'<!-'.repeat(10 * mebibyte)}`),
    declared: 'text/html',
    ends: ['read', 'too_large', 'malformed'],
  },
  {
    name: 'a CSV of one quote',
    make: () => Buffer.from(`a,b,c\n"${'a,b\n'.repeat(2 * mebibyte)}`),
    declared: 'text/csv',
    ends: ['malformed', 'too_large'],
  },
  {
    name: 'a CSV of 100,000 columns',
    make: () => Buffer.from(`${mixed(100_000, (n) => `column ${n},`)}\n`.repeat(20)),
    declared: 'text/csv',
    ends: ['read', 'too_large', 'malformed'],
  },
  {
    name: 'an e-mail with a header of 20 MiB',
    make: () => Buffer.from(`${head}X-A: ${'a'.repeat(20 * mebibyte)}\r\n\r\nText.`),
    ends: ['malformed', 'too_large'],
  },
  { name: 'e-mails in e-mails', make: () => Buffer.from(nestedMail(60)), ends: ['too_large', 'malformed'] },
  {
    name: 'an e-mail of 2,000 attachments',
    make: () => mail(Array.from({ length: 2_000 }, () => attachment(Buffer.from('Text.')))),
    ends: ['too_large'],
  },
  {
    name: 'an e-mail of DOCX bombs',
    make: () =>
      mail(Array.from({ length: 4 }, () => attachment(docx(body(word('a '.repeat(12 * mebibyte))))))),
    ends: ['too_large'],
  },
  {
    name: 'a text of 60 million characters',
    make: () => Buffer.from('A word. '.repeat(7_500_000)),
    ends: ['too_large'],
  },
];
