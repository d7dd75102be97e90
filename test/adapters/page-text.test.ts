import { describe, expect, it } from 'vitest';
import type { DocumentMediaType } from '#domain/knowledge/collections/document-status.ts';
import { extractor } from '../support/extractor.ts';

async function extract(mediaType: DocumentMediaType, content: Uint8Array | string) {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  const source = { tenantId: 'a', read: () => Promise.resolve({ mediaType, content: bytes }) };
  const { text, sections, chunks } = await extractor.extract(source, new AbortController().signal);
  return { text, sections, passages: chunks.map((chunk) => chunk.text.trim()) };
}

describe('a page without an article', () => {
  it('has the text of its heading', async () => {
    const { passages } = await extract(
      'text/html',
      '<h3 class="title">Annual report of the harbour 2020</h3>',
    );
    expect(passages).toEqual(['Annual report of the harbour 2020']);
  });

  it('has its title, when there is nothing else', async () => {
    const { passages } = await extract(
      'text/html',
      '<!doctype html><html><head><title>Halden</title></head><body></body></html>',
    );
    expect(passages).toEqual(['Halden']);
  });
});

describe('a page that declares an encoding which its bytes are not in', () => {
  it('is read in the one that they are in', async () => {
    const russian = Buffer.from('cce0ffea20efeeeaf0e0f8e5ed20e220f1e8ede8e920f6e2e5f2', 'hex');
    const head = '<html><head><meta charset="utf-8"><title>Port</title></head><body><p>';
    const page = Buffer.concat([Buffer.from(head), russian, Buffer.from('</p></body></html>')]);
    expect((await extract('text/html', page)).text).toContain('покрашен в синий цвет');
  });
});

describe('markdown', () => {
  it('loses no heading that has nothing below it', async () => {
    const { passages } = await extract(
      'text/markdown',
      '# Harbour\n\n## Beacon\n\n## Pier\n\nLong.\n\n# End\n',
    );
    expect(passages).toEqual(['## Beacon', 'Long.', '# End']);
  });
});

describe('a message that was saved in UTF-16', () => {
  it.each(['utf16le', 'utf16be'])('is read, in %s', async (order) => {
    const message =
      'From: Ada <ada@example.org>\nSubject: Beacon\nContent-Type: text/plain; charset=utf-8\n\nPainted blue for Gäste.\n';
    const bytes = Buffer.from(`\uFEFF${message}`, 'utf16le');
    const { text } = await extract('message/rfc822', order === 'utf16le' ? bytes : bytes.swap16());
    expect(text).toContain('Subject: Beacon');
    expect(text).toContain('Painted blue for Gäste.');
  });
});

describe('a message with odd headers', () => {
  it.each(['msip_labels: A=True', 'X-Mailer.v1: Halden', 'a line without a colon'])(
    'is one nevertheless: %s',
    async (header) => {
      const { text } = await extract(
        'message/rfc822',
        `From: Ada <ada@example.org>\nSubject: =?utf-8?Q?Bl=C3=BCte?=\n${header}\n\nPainted.\n`,
      );
      expect(text).toContain('Subject: Blüte');
    },
  );
});
