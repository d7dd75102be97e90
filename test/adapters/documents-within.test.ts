import { deflateSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { zipOf } from '../support/zip-writer.ts';
import { extractor } from '../support/extractor.ts';

async function extract(content: Buffer) {
  const source = {
    tenantId: 'a',
    read: () => Promise.resolve({ mediaType: 'text/plain' as const, content }),
  };
  return extractor.extract(source, new AbortController().signal);
}

/** A PDF file of one page with embedded files, whose bytes each name once. */
function portfolio(text: string, files: readonly { name: string; content: Buffer }[]): Buffer {
  const stream = (dictionary: string, content: Buffer) =>
    Buffer.concat([
      Buffer.from(`<< ${dictionary} /Length ${content.length} >>\nstream\n`),
      content,
      Buffer.from('\nendstream'),
    ]);
  const names = files.map(({ name }, at) => `(${name}) ${6 + at * 2} 0 R`).join(' ');
  const page = '/MediaBox [0 0 600 800] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >>';
  const objects: (string | Buffer)[] = [
    `<< /Type /Catalog /Pages 2 0 R /Names << /EmbeddedFiles << /Names [${names}] >> >> >>`,
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    `<< /Type /Page /Parent 2 0 R ${page} >>`,
    stream('', Buffer.from(`BT /F1 12 Tf 20 700 Td (${text}) Tj ET`)),
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
    ...files.flatMap(({ name, content }, at) => [
      `<< /Type /Filespec /F (${name}) /UF (${name}) /EF << /F ${7 + at * 2} 0 R >> >>`,
      stream('/Type /EmbeddedFile /Filter /FlateDecode', deflateSync(content)),
    ]),
  ];
  const parts = objects.flatMap((object, at) => [`${at + 1} 0 obj\n`, object, '\nendobj\n']);
  const end = `trailer\n<< /Root 1 0 R /Size ${objects.length + 1} >>\nstartxref\n0\n%%EOF\n`;
  return Buffer.concat(['%PDF-1.7\n', ...parts, end].map((part) => Buffer.from(part)));
}

const word = (text: string) => `<w:p><w:r><w:t>${text}</w:t></w:r></w:p>`;
function docx(text: string, chunks: readonly { name: string; content: Buffer | string }[] = []): Buffer {
  const relations = chunks.map(
    ({ name }, at) => `<Relationship Id="c${at}" Type="http://x/relationships/aFChunk" Target="${name}"/>`,
  );
  return zipOf([
    {
      name: 'word/document.xml',
      content: `<w:document xmlns:w="w"><w:body>${word(text)}</w:body></w:document>`,
    },
    { name: 'word/_rels/document.xml.rels', content: `<Relationships>${relations.join('')}</Relationships>` },
    ...chunks.map(({ name, content }) => ({ name: `word/${name}`, content })),
  ]);
}

describe('files that are embedded in a PDF file', () => {
  const files = [
    { name: 'fees.csv', content: Buffer.from('Port,Fee,Unit\nHalden,12,NOK\n') },
    { name: 'report.docx', content: docx('The beacon is blue.') },
    { name: 'photo.png', content: Buffer.from('89504e470d0a1a0a00', 'hex') },
  ];

  it('are parts of it, under their names', async () => {
    const { chunks } = await extract(portfolio('Cover.', files));
    expect(chunks.map(({ text, page, anchor }) => [text, page, anchor])).toEqual([
      ['Cover.', 1, null],
      ['Port | Fee | Unit\nPort: Halden; Fee: 12; Unit: NOK', null, 'attachment fees.csv › rows 1-2'],
      ['The beacon is blue.', null, 'attachment report.docx'],
    ]);
  });

  it('are not followed further', async () => {
    const inner = portfolio('Inner.', files);
    const { text } = await extract(portfolio('Outer.', [{ name: 'inner.pdf', content: inner }]));
    expect(text).toContain('Inner.');
    expect(text).not.toContain('Halden');
  });

  it.each([
    [
      '201 files',
      () => Array.from({ length: 201 }, (_, n) => ({ name: `${n}.txt`, content: Buffer.from('a') })),
    ],
  ])('of %s are too large', async (_, make) => {
    await expect(extract(portfolio('Cover.', make()))).rejects.toMatchObject({ code: 'too_large' });
  });

  it.each([
    ['an archive of 70 MiB', { name: 'a.docx', content: docx('a'.repeat(70 * 1_048_576)) }],
    ['a file of 80 MiB', { name: 'a.png', content: Buffer.alloc(80 * 1_048_576) }],
    ['a file of data', { name: 'factur-x.xml', content: Buffer.from('<a>Moss</a>') }],
  ])('do without %s', async (_, file) => {
    const { text } = await extract(portfolio('Cover.', [file, files[1] ?? file]));
    expect(text).toMatch(/^Cover\.\s+The beacon is blue\.\s*$/);
  });

  it('do not stand for the pages of a scan', async () => {
    const image = ') Tj ET BI /W 1 /H 1 /BPC 8 /CS /G ID a EI BT (';
    await expect(extract(portfolio(image, files))).rejects.toMatchObject({ code: 'needs_ocr' });
  });
});

describe('documents of other formats within DOCX', () => {
  it.each([
    ['a.html', '<html><body><h1>Beacon</h1><p>Painted blue.</p></body></html>'],
    [
      'a.mht',
      'MIME-Version: 1.0\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<h1>Beacon</h1><p>Painted blue.</p>',
    ],
    ['a.txt', 'Painted blue.'],
    ['a.docx', docx('Painted blue.')],
  ])('are read: %s', async (name, content) => {
    const { text } = await extract(docx('Body.', [{ name, content }]));
    expect(text).toMatch(/Body\.\s+(?:# Beacon\s+)?Painted blue\./);
  });

  it('are not followed further', async () => {
    const inner = docx('Inner.', [{ name: 'a.txt', content: 'Innermost.' }]);
    const { text } = await extract(docx('Body.', [{ name: 'a.docx', content: inner }]));
    expect(text).toContain('Inner.');
    expect(text).not.toContain('Innermost.');
  });
});
