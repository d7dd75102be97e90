import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { readDocument } from '#adapters/knowledge/formats/read-document.ts';
import { imapProvider } from '#adapters/sources/imap/provider.ts';
import type { ListedDocument, Source } from '#domain/knowledge/connectors/source.ts';
import { hasDovecot, startImapServer, type ImapServer } from '../../support/sources/imap-server.ts';
import { mailFile, mailOf, mailParts, mailText } from '../../support/sources/mail-parts.ts';
import { oddNames } from '../../support/sources/odd-names.ts';
import { listAll, openSource } from '../../support/sources/open-source.ts';

const signal = AbortSignal.timeout(600_000);
const pdf = (name: string) => mailFile(`%PDF-${name}`, 'application/pdf', `attachment; filename="${name}"`);

describe.skipIf(!hasDovecot())('attachments in mailboxes of Dovecot', () => {
  let server: ImapServer;
  let source: Source;

  beforeAll(async () => {
    server = await startImapServer();
    source = await openSource(imapProvider, server);
  });
  beforeEach(() =>
    server.command(async (client) => {
      await client.mailboxOpen('INBOX');
      await client.messageDelete('1:*', { uid: true });
    }),
  );
  afterAll(async () => {
    await source.close?.();
    await server.close();
  });

  const put = (message: string | Buffer) => server.append('INBOX', message);
  const listed = async () => (await listAll(source)).documents;
  const names = async () => (await listed()).map(({ name }) => name);
  const fetchOne = (document: ListedDocument | undefined, maxBytes = 1_000_000) =>
    source.fetch({ ref: document?.ref ?? '', version: null, mediaType: null, maxBytes }, signal);
  const contentOf = async (document: ListedDocument | undefined): Promise<Buffer> => {
    const fetched = await fetchOne(document);
    expect(fetched.kind).toBe('content');
    return Buffer.from(fetched.kind === 'content' ? fetched.content : []);
  };
  const textOf = async (document: ListedDocument | undefined) =>
    (await readDocument({ content: await contentOf(document), mediaType: 'message/rfc822' })).text;

  test('each is a document of its own, and the message holds its headers and its text alone', async () => {
    const bytes = Buffer.from(Array.from({ length: 5_000 }, (_, at) => (at * 7) % 256));
    await put(
      mailOf(
        'Invoice 12',
        mailParts(
          'mixed',
          mailText('Please pay by Friday.'),
          mailFile(bytes, 'application/pdf', 'attachment; filename="invoice.pdf"'),
          mailFile('cormorant', 'text/plain; name="notes.txt"', 'inline'),
        ),
      ),
    );
    const [message, invoice, notes, ...others] = await listed();
    expect(others).toEqual([]);
    expect(message).toMatchObject({ name: 'INBOX/Invoice 12.eml', mediaType: 'message/rfc822' });
    expect(invoice).toMatchObject({
      ref: `${message?.ref}/;SECTION=2`,
      name: 'INBOX/Invoice 12/invoice.pdf',
      mediaType: 'application/pdf',
      url: null,
    });
    expect(Math.abs((invoice?.byteSize ?? 0) - bytes.byteLength)).toBeLessThan(4);
    expect(await contentOf(invoice)).toEqual(bytes);
    expect(notes).toMatchObject({ name: 'INBOX/Invoice 12/notes.txt', mediaType: 'text/plain' });
    expect((await contentOf(notes)).toString()).toBe('cormorant');
    const text = await textOf(message);
    expect(text).toContain('Subject: Invoice 12\nFrom: Writer <writer@example.org>');
    expect(text).toContain('Please pay by Friday.');
    expect(text).not.toMatch(/cormorant|PDF|invoice\.pdf/);
    expect(await contentOf(message)).toEqual(await contentOf(message));
    const known = { ref: invoice?.ref ?? '', version: invoice?.version ?? '', mediaType: null, maxBytes: 9 };
    expect(await source.fetch(known, signal)).toEqual({ kind: 'unchanged' });
  });

  test('nested parts, attached messages, and what is no document', async () => {
    const inner = mailOf('Earlier', mailParts('mixed', mailText('dunlin'), pdf('old.pdf')));
    await put(
      mailOf(
        'Nested',
        mailParts(
          'signed; protocol="application/pgp-signature"',
          mailParts(
            'mixed',
            mailParts(
              'related',
              mailParts('alternative', mailText('plain words'), mailText('<p>html words</p>', 'text/html')),
              { ...mailFile('GIF89a', 'image/gif; name="logo.gif"', 'inline') },
            ),
            mailParts('mixed', pdf('deep.pdf')),
            { headers: ['Content-Type: message/rfc822'], body: inner },
            mailFile('JPEG', 'image/jpeg', 'attachment; filename="photo.jpg"'),
            mailFile('%PDF-unnamed', 'application/pdf', null),
          ),
          mailFile(
            'sig',
            'application/pgp-signature; name="signature.asc"',
            'attachment; filename="signature.asc"',
          ),
        ),
      ),
    );
    const [message, deep, earlier, photo, unnamed, ...others] = await listed();
    expect(others).toEqual([]);
    expect([deep, earlier, photo, unnamed].map((each) => each?.name)).toEqual([
      'INBOX/Nested/deep.pdf',
      'INBOX/Nested/Earlier.eml',
      'INBOX/Nested/photo.jpg',
      'INBOX/Nested/attachment 1.5.pdf',
    ]);
    expect((await contentOf(deep)).toString()).toBe('%PDF-deep.pdf');
    expect((await contentOf(unnamed)).toString()).toBe('%PDF-unnamed');
    expect(earlier).toMatchObject({ mediaType: 'message/rfc822', byteSize: Buffer.byteLength(inner) });
    expect((await contentOf(earlier)).toString()).toBe(inner);
    expect(await textOf(earlier)).toContain('dunlin');
    const text = await textOf(message);
    expect(text).toContain('plain words');
    expect(text).not.toMatch(/dunlin|html words|logo/);
  });

  test('a message that is nothing but a file has a document for its headers', async () => {
    await put(mailOf('Scan', mailFile('%PDF-scan', 'application/pdf; name="scan.pdf"', null)));
    const [message, scan] = await listed();
    expect(scan?.name).toBe('INBOX/Scan/scan.pdf');
    expect((await contentOf(scan)).toString()).toBe('%PDF-scan');
    expect((await textOf(message)).trim()).toBe(
      'Subject: Scan\nFrom: Writer <writer@example.org>\nTo: reader@example.org',
    );
  });

  test('equal names in one message are numbered', async () => {
    await put(
      mailOf('Twice', mailParts('mixed', mailText('x'), pdf('a.pdf'), pdf('a.pdf'), pdf('a (2).pdf'))),
    );
    const [, ...attachments] = await listed();
    expect(attachments.map(({ name }) => name)).toEqual([
      'INBOX/Twice/a.pdf',
      'INBOX/Twice/a (2).pdf',
      'INBOX/Twice/a (2) (2).pdf',
    ]);
    const contents = await Promise.all(attachments.map(async (each) => (await contentOf(each)).toString()));
    expect(contents).toEqual(['%PDF-a.pdf', '%PDF-a.pdf', '%PDF-a (2).pdf']);
  });

  test.each([
    ['in RFC 2231', (name: string) => `attachment; filename*=utf-8''${percent(name)}`],
    ['in RFC 2231, continued', (name: string) => `attachment;\r\n ${continued(name)}`],
    ['in RFC 2047', (name: string) => `attachment; filename="${words(name)}"`],
  ])('names in ten scripts and with odd characters, %s', async (_, disposition) => {
    const files = oddNames.map((name) => mailFile(name, 'application/pdf', disposition(name)));
    await put(mailOf('Names', mailParts('mixed', mailText('x'), ...files)));
    const [, ...attachments] = await listed();
    expect(attachments.map(({ name }) => name)).toEqual(
      oddNames.map((name) => `INBOX/Names/${name.replaceAll('/', '-')}`),
    );
    expect((await contentOf(attachments.at(-1))).toString()).toBe(oddNames.at(-1));
  });

  test('names that are too long keep their extension, and raw bytes and controls are cleaned', async () => {
    const long = `${'ж'.repeat(400)}.pdf`;
    await put(
      mailOf(
        'Odd',
        mailParts(
          'mixed',
          mailText('x'),
          mailFile('1', 'application/pdf', `attachment; filename*=utf-8''${percent(long)}`),
          mailFile('2', 'application/pdf', 'attachment; filename="Grüße.pdf"'),
          mailFile('3', 'application/pdf', `attachment; filename*=utf-8''a%0D%0Ab%00.pdf`),
          mailFile('4', 'application/pdf', `attachment; filename*=utf-8''%E4%FF.pdf`),
        ),
      ),
    );
    const [, first, second, third, fourth] = await names();
    expect(first).toBe(`INBOX/Odd/${'ж'.repeat(146)}.pdf`);
    expect(second).toBe('INBOX/Odd/Grüße.pdf');
    expect(third).toMatch(/^INBOX\/Odd\/a +b .pdf$/);
    expect(fourth?.isWellFormed()).toBe(true);
  });

  test('encodings of attachments are decoded, those of the text stay with it', async () => {
    const encoded = (encoding: string, body: string) => ({
      headers: [
        'Content-Type: application/octet-stream',
        `Content-Transfer-Encoding: ${encoding}`,
        `Content-Disposition: attachment; filename="${encoding}.bin"`,
      ],
      body,
    });
    await put(
      mailOf(
        'Encodings',
        mailParts(
          'mixed',
          {
            headers: [
              'Content-Type: text/plain; charset=iso-8859-1',
              'Content-Transfer-Encoding: quoted-printable',
            ],
            body: 'Gr=FC=DFe aus K=F6=\r\nln',
          },
          encoded('quoted-printable', 'a=3Db=\r\nc=FF=zz\r\nd'),
          encoded('7bit', 'a=3Db'),
          encoded('8bit', 'ü'),
          encoded('BASE64', 'YWJj\r\nZGVm'),
        ),
      ),
    );
    const [message, ...attachments] = await listed();
    const contents = await Promise.all(attachments.map((each) => contentOf(each)));
    expect(contents.map((each) => each.toString('latin1'))).toEqual([
      'a=bc\u00ff=zz\r\nd',
      'a=3Db',
      'Ã¼',
      'abcdef',
    ]);
    expect(await textOf(message)).toContain('Grüße aus Köln');
  });

  test('a large attachment is skipped without being transferred, and does not take its message with it', async () => {
    const large = mailFile('x'.repeat(3_000_000), 'application/pdf', 'attachment; filename="large.pdf"');
    await put(mailOf('Large', mailParts('mixed', mailText('small words'), large)));
    const [message, attachment] = await listed();
    expect(message?.byteSize).toBeNull();
    expect(await textOf(message)).toContain('small words');
    const before = server.bytesSent();
    expect(await fetchOne(attachment, 1_000_000)).toEqual({ kind: 'skipped', code: 'too_large' });
    expect(server.bytesSent() - before).toBeLessThan(10_000);
    // Fewer bytes than its encoding has, more than its content: what is transferred is judged by its content.
    expect(await fetchOne(attachment, 2_900_000)).toEqual({ kind: 'skipped', code: 'too_large' });
    expect(await fetchOne(attachment, 3_000_000)).toMatchObject({ kind: 'content' });
  });

  test('attachments of a deleted message leave with it', async () => {
    const uid = await put(mailOf('Leaving', mailParts('mixed', mailText('x'), pdf('a.pdf'), pdf('b.pdf'))));
    await put(mailOf('Staying', mailParts('mixed', mailText('x'), pdf('c.pdf'))));
    const before = await listAll(source);
    const [first, a] = before.documents;
    expect(await source.exists(a?.ref ?? '', signal)).toBe(true);
    expect(await source.exists(`${first?.ref}/;SECTION=9`, signal)).toBe(false);
    expect(await source.exists(`${first?.ref}/;SECTION=1`, signal)).toBe(false);
    await server.command(async (client) => {
      await client.mailboxOpen('INBOX');
      await client.messageDelete(String(uid), { uid: true });
    });
    const page = await source.list({ cursor: null, checkpoint: before.checkpoint }, signal);
    expect(page).toMatchObject({ scope: 'changes', gone: [first?.ref], goneWithParts: true });
    expect(await fetchOne(a)).toEqual({ kind: 'gone' });
    expect(await source.exists(a?.ref ?? '', signal)).toBe(false);
    const elsewhere = { ...server.scopeConfig, mailboxes: ['Elsewhere'] };
    const other = await openSource(imapProvider, { ...server, scopeConfig: elsewhere });
    expect(await other.exists(before.documents[2]?.ref ?? '', signal)).toBe(false);
  });

  test('attachments of a mailbox that is numbered again are other ones', async () => {
    await server.command((client) => client.mailboxCreate('Numbered'));
    await server.append('Numbered', mailOf('A', mailParts('mixed', mailText('x'), pdf('a.pdf'))));
    const scopeConfig = { ...server.scopeConfig, mailboxes: ['Numbered'] };
    const numbered = await openSource(imapProvider, { ...server, scopeConfig });
    const before = await listAll(numbered);
    await server.renumber('Numbered');
    const after = await listAll(numbered, before.checkpoint);
    expect(after).toMatchObject({ scope: 'everything', documents: { length: 2 } });
    const [old, now] = [before, after].map(({ documents }) => documents[1]?.ref ?? '');
    expect(await numbered.exists(old ?? '', signal)).toBe(false);
    expect(await numbered.exists(now ?? '', signal)).toBe(true);
    await numbered.close?.();
  });

  test('pages end with messages, and hold about a thousand documents', async () => {
    const files = Array.from({ length: 130 }, (_, at) => mailFile(String(at), 'text/csv; name=f', null));
    const message = mailOf('Many', mailParts('mixed', mailText('x'), ...files));
    await server.command(async (client) => {
      for (let count = 0; count < 25; count += 1) await client.append('INBOX', message);
    });
    const { documents, pages } = await listAll(source);
    expect(pages).toBe(3);
    expect(new Set(documents.map(({ ref }) => ref)).size).toBe(25 * 101);
  });

  test('a message that nests too deep for the client is a document as it is', async () => {
    let part = mailParts('mixed', mailText('avocet'), pdf('hidden.pdf'));
    for (let depth = 0; depth < 60; depth += 1) part = mailParts('mixed', part);
    const message = mailOf('Deep', part);
    await put(message);
    await put(mailOf('Plain', mailText('x')));
    const documents = await listed();
    expect(documents.map(({ name }) => name)).toEqual(['INBOX/Deep.eml', 'INBOX/Plain.eml']);
    expect((await contentOf(documents[0])).toString()).toBe(message);
    expect(await source.exists(documents[0]?.ref ?? '', signal)).toBe(true);
  });

  test('messages of ten thousand parts delay nothing', async () => {
    const parts = Array.from({ length: 10_000 }, () => ({ headers: [], body: '' }));
    const message = mailOf('Parts', mailParts('mixed', ...parts));
    await server.command(async (client) => {
      for (let count = 0; count < 25; count += 1) await client.append('INBOX', message);
    });
    await put(mailOf('Plain', mailParts('mixed', mailText('x'), pdf('a.pdf'))));
    const expected = [...Array.from({ length: 25 }, () => 'Parts.eml'), 'Plain.eml', 'Plain/a.pdf'];
    expect(await names()).toEqual(expected.map((name) => `INBOX/${name}`));
  });

  test.each([
    ['of an earlier version', (now: Record<string, unknown>) => ({ ...now, form: undefined })],
    ['of another form', () => ({ form: 3 })],
  ])('a checkpoint %s has everything listed again', async (_, change) => {
    await put(mailOf('Before', mailParts('mixed', mailText('x'), pdf('a.pdf'))));
    const { checkpoint } = await listAll(source);
    const earlier = JSON.stringify(change(JSON.parse(checkpoint ?? '') as Record<string, unknown>));
    const again = await listAll(source, earlier);
    expect(again).toMatchObject({ scope: 'everything', documents: { length: 2 } });
    // What an earlier version has stored held the attachment.
    const [message] = again.documents;
    const known = { ref: message?.ref ?? '', version: 'immutable', mediaType: null, maxBytes: 100_000 };
    expect(await source.fetch(known, signal)).toMatchObject({ kind: 'content', version: message?.version });
  });
});

const percent = (text: string): string =>
  [...Buffer.from(text)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('');

/** Pieces of whole bytes, the first with the character set. */
function continued(name: string): string {
  const pieces = percent(name).match(/.{1,30}/g) ?? [];
  return pieces.map((piece, at) => `filename*${at}*=${at === 0 ? "utf-8''" : ''}${piece}`).join(';\r\n ');
}

const words = (name: string): string =>
  (name.match(/.{1,8}/gsu) ?? [])
    .map((word) => `=?utf-8?B?${Buffer.from(word).toString('base64')}?=`)
    .join(' ');
