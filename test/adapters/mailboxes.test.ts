import { describe, expect, it } from 'vitest';
import { withKnownCharsets } from '#adapters/knowledge/formats/mail-charsets.ts';
import { messageStarts } from '#adapters/knowledge/formats/read-mbox.ts';
import { expectLinear } from '../support/growth.ts';
import { extractor } from '../support/extractor.ts';

async function extract(content: Buffer | string) {
  const source = {
    tenantId: 'a',
    read: () => Promise.resolve({ mediaType: 'message/rfc822' as const, content: Buffer.from(content) }),
  };
  return extractor.extract(source, new AbortController().signal);
}

const mailbox = [
  'From ada@example.org Mon Jan  5 10:00:00 2026',
  'From: Ada <ada@example.org>',
  'Subject: Beacon',
  'Date: Mon, 5 Jan 2026 10:00:00 +0000',
  '',
  'Painted blue.',
  '',
  'From the sea it is green.',
  '>From here on it is red.',
  '',
  'From bo@example.org Tue Jan  6 11:00:00 2026',
  'From: Bo <bo@example.org>',
  'Subject: Re: Beacon',
  'Date: Tue, 6 Jan 2026 11:00:00 +0000',
  'Content-Type: multipart/mixed; boundary=b',
  '',
  '--b',
  'Content-Type: text/plain',
  '',
  'Thanks.',
  '--b',
  'Content-Type: text/csv; name=a.csv',
  'Content-Disposition: attachment; filename=a.csv',
  '',
  'name,height,colour',
  'Halden,12,blue',
  '--b--',
  '',
].join('\n');

describe('a mailbox', () => {
  it.each([
    ['LF', mailbox],
    ['CRLF', mailbox.replaceAll('\n', '\r\n')],
  ])('has each message under its subject, sender and date, with ends of lines %s', async (_, content) => {
    const { chunks } = await extract(content);
    expect(chunks.map(({ heading, anchor }) => [heading, anchor])).toEqual([
      ['Beacon · Ada <ada@example.org> · 2026-01-05', 'message 1 › head'],
      ['Beacon · Ada <ada@example.org> · 2026-01-05', 'message 1'],
      ['Re: Beacon · Bo <bo@example.org> · 2026-01-06', 'message 2 › head'],
      ['Re: Beacon · Bo <bo@example.org> · 2026-01-06', 'message 2'],
      ['Re: Beacon · Bo <bo@example.org> · 2026-01-06', 'message 2 › attachment a.csv › rows 1-2'],
    ]);
    expect(chunks[1]?.text).toMatch(/From the sea it is green\.\r?\nFrom here on it is red\.$/);
  });

  it('of one message is that message', async () => {
    const { chunks } = await extract(mailbox.slice(0, mailbox.indexOf('\nFrom bo')));
    expect(chunks.map(({ anchor }) => anchor)).toEqual(['head', null]);
  });

  it('of too many messages is too large', async () => {
    const message = 'From a Mon Jan  5 10:00:00 2026\nFrom: a@b.example\nSubject: s\n\nx\n\n';
    await expect(extract(message.repeat(10_001))).rejects.toMatchObject({ code: 'too_large' });
  });

  it.each(['\nFrom ', '\n\nFrom ', '\n\nFrom a 1:22 ', '1:22 ', '\n\nFrom \r', '\n\nFrom a b 10:00 '])(
    'is cut in linear time: %j',
    (unit) => {
      const make = (size: number) => `From a Mon Jan  5 10:00:00 2026${unit.repeat(size / unit.length)}`;
      expectLinear(unit, { make, work: messageStarts, size: 400_000 });
    },
  );
});

describe('a message that says that it is ASCII', () => {
  const message = (type: string, body: Buffer | string) =>
    Buffer.concat([
      Buffer.from(`From: a@b.example\nSubject: S\nMIME-Version: 1.0\nContent-Type: ${type}\n\n`),
      Buffer.from(body),
    ]);

  it.each(['text/plain; charset=us-ascii', 'text/plain;\n\tcharset="US-ASCII"', 'text/plain; charset=ascii'])(
    'is UTF-8 where its bytes are: %j',
    async (type) => {
      expect((await extract(message(type, 'Blue for Gäste.'))).text).toContain('Blue for Gäste.');
    },
  );

  it('is UTF-8 where its quoted bytes are', async () => {
    const type = 'text/plain; charset=us-ascii\nContent-Transfer-Encoding: quoted-printable';
    expect((await extract(message(type, 'Blue for G=C3=\n=A4ste.'))).text).toContain('Blue for Gäste.');
  });

  it('is Latin where its bytes are not UTF-8', async () => {
    const body = Buffer.from('Blue for Gäste.', 'latin1');
    expect((await extract(message('text/plain; charset=us-ascii', body))).text).toContain('Blue for Gäste.');
  });

  it('is read in Korean', async () => {
    const body = Buffer.from('1b2429430a0e356e346b0f2026', 'hex');
    expect((await extract(message('text/plain; charset=iso-2022-kr', body))).text).toContain('등대');
  });

  it.each(['content-type: charset=us-ascii\n', 'content-type:', '\n ', '=\n', '=C3', 'charset=us-ascii '])(
    'is examined in linear time: %j',
    (unit) => {
      const make = (size: number) =>
        Buffer.from(`content-type: a; charset=us-ascii\n${unit.repeat(size / unit.length)}`);
      expectLinear(unit, { make, work: withKnownCharsets, size: 200_000 });
    },
  );
});

describe('a text in an encoding of few programs', () => {
  const utf32 = (text: string, isLittle: boolean) => {
    const bytes = Buffer.from(Uint32Array.from(`\uFEFF${text}`, (each) => each.codePointAt(0) ?? 0).buffer);
    return isLittle ? bytes : bytes.swap32();
  };
  it.each([
    ['UTF-32LE', utf32('The beacon 🚀 für Gäste.', true), 'The beacon 🚀 für Gäste.'],
    ['UTF-32BE', utf32('The beacon 🚀 für Gäste.', false), 'The beacon 🚀 für Gäste.'],
    ['ISO-2022-KR', Buffer.from('1b2429430a0e356e346b0f2061626320', 'hex'), '등대 abc'],
  ])('is read: %s', async (_, content, text) => {
    const source = {
      tenantId: 'a',
      read: () => Promise.resolve({ mediaType: 'text/plain' as const, content }),
    };
    expect((await extractor.extract(source, new AbortController().signal)).text.trim()).toBe(text);
  });
});
