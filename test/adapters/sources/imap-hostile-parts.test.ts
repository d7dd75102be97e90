import { afterEach, expect, test } from 'vitest';
import { composeMessage } from '#adapters/sources/imap/compose-message.ts';
import { decodePart } from '#adapters/sources/imap/decode-part.ts';
import { burdenOf } from '../../support/sources/burden-of.ts';
import { endScriptedImap, serveImap } from '../../support/sources/scripted-imap.ts';

const signal = AbortSignal.timeout(600_000);
const first = { cursor: null, checkpoint: null };
const message = 'INBOX;UIDVALIDITY=7/;UID=1';
const text = '("text" "plain" NIL NIL NIL "7bit" 1 1)';
const file = (size: number, name = '"a.pdf"', encoding = 'base64') =>
  `("application" "pdf" ("name" ${name}) NIL NIL "${encoding}" ${size} NIL ("attachment" NIL))`;
const mixed = (parts: string) => `(${parts} "mixed")`;

afterEach(endScriptedImap);

/** A server whose only message has this structure, and this content where it is asked for. */
const withStructure = (structure: string, content: (section: string) => string = () => '') =>
  serveImap({
    'UID FETCH': (socket, tag, line) => {
      const asks = line.includes('BODYSTRUCTURE') ? ` BODYSTRUCTURE ${structure}` : '';
      const sections = [...line.matchAll(/BODY\.PEEK\[([\w.]*)\]/g)].map(([, section = '']) => section);
      const bodies = sections.map((section) => ` BODY[${section}]<0> ${content(section)}`).join('');
      socket.write(`* 1 FETCH (UID 1 RFC822.SIZE 10${asks}${bodies})\r\n${tag} OK done\r\n`);
    },
  });
const literal = (bytes: string) => `{${bytes.length}}\r\n${bytes}`;
const fetchOf = (ref: string, maxBytes = 1_000) => ({ ref, version: null, mediaType: null, maxBytes });

test.each([
  ['a hundred thousand parts', mixed(text.repeat(100_000))],
  ['more bytes than an answer may have', mixed(text.repeat(500_000))],
  ['parts nested without an end', `${'('.repeat(1_000_000)}${')'.repeat(1_000_000)}`],
  ['as many parts as the client reads, nested', `${'('.repeat(2_000)}${text}${' "mixed")'.repeat(2_000)}`],
  ['a part that is no part', '(NIL NIL NIL)'],
  ['a list that does not end', '(("text" "plain"'],
])('with a structure of %s a message is a document without attachments', async (_, structure) => {
  const hostile = await withStructure(structure, () => literal('From: a@b\r\n\r\nx'));
  const { result, megabytes, blockedMs } = await burdenOf(() => hostile.list(first, signal));
  expect(result.documents.map(({ ref }) => ref)).toEqual([message]);
  expect(megabytes).toBeLessThan(200);
  expect(blockedMs).toBeLessThan(2_000);
  expect(await hostile.fetch(fetchOf(message), signal)).toMatchObject({ kind: 'content' });
});

test('of the parts that the client reads a hundred are listed', async () => {
  const hostile = await withStructure(mixed(file(4).repeat(2_000)));
  const { result, blockedMs } = await burdenOf(() => hostile.list(first, signal));
  expect(result.documents).toHaveLength(101);
  expect(blockedMs).toBeLessThan(2_000);
});

test('equal names without number are numbered in time', async () => {
  const hostile = await withStructure(mixed(file(4, `"${'x'.repeat(100_000)}"`).repeat(100)));
  const { documents } = await hostile.list(first, signal);
  expect(new Set(documents.map(({ name }) => name)).size).toBe(101);
  for (const { name } of documents) expect(name.length).toBeLessThan(500);
});

test.each([
  ['more bytes than it says', file(4), 'x'.repeat(3_000)],
  ['too many bytes for its encoding', file(4, '"a.pdf"', '7bit'), 'x'.repeat(1_001)],
])('an attachment with %s is too large', async (_, part, content) => {
  const hostile = await withStructure(mixed(text + part), () => literal(content));
  expect(await hostile.fetch(fetchOf(`${message}/;SECTION=2`), signal)).toEqual({
    kind: 'skipped',
    code: 'too_large',
  });
});

test('an attachment without an end is cut at the limit of bytes', async () => {
  const hostile = await withStructure(mixed(text + file(4)), () => `{90000000}\r\n${'x'.repeat(30_000_000)}`);
  await expect(hostile.fetch(fetchOf(`${message}/;SECTION=2`), signal)).rejects.toMatchObject({
    code: 'source_invalid',
  });
});

test.each(['9', '1', '2.1', '99999.1'])('section %s is no attachment', async (section) => {
  const honest = await withStructure(mixed(text + file(4)), () => literal('YWJj'));
  expect(await honest.fetch(fetchOf(`${message}/;SECTION=${section}`), signal)).toEqual({ kind: 'gone' });
  expect(await honest.exists(`${message}/;SECTION=${section}`, signal)).toBe(false);
});

test('a message whose texts say to be too large is skipped without them', async () => {
  const large = '("text" "plain" NIL NIL NIL "7bit" 2000 1)';
  const hostile = await withStructure(mixed(large + file(4)), () => '{90000000}\r\n');
  expect(await hostile.fetch(fetchOf(message), signal)).toEqual({ kind: 'skipped', code: 'too_large' });
});

test('what a message says of its parts becomes no header', () => {
  const parameters = new Map([
    ['charset', 'utf-8"\r\nSubject: forged'],
    ['format', 'flowed'],
  ]);
  const part = { section: '1', mediaType: 'text/plain', encoding: 'x\r\nSubject: forged', size: 1, name: '' };
  const headers = Buffer.from(
    'Subject: own\r\nContent-Type: a/b;\r\n c=d\r\nMIME-Version: 1.0\r\nTo: b\r\n\r\n',
  );
  const composed = composeMessage(headers, { ...part, parameters }, new Map([['1', Buffer.from('words')]]));
  expect(composed.toString()).toBe(
    'Subject: own\r\nTo: b\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; format="flowed"\r\n\r\nwords',
  );
});

test.each([
  ['one', 'a=\r\nb', 'ab'],
  ['one before blanks', 'a= \t \r\nb', 'ab'],
  ['one before a bare line end', 'a=  \nb=\nc', 'abc'],
  ['none', 'a= b=3D =  c=', 'a= b= =  c='],
])('with %s a soft line break of an attachment leaves nothing', async (_, encoded, decoded) => {
  const mail = await withStructure(mixed(text + file(100, '"a.txt"', 'quoted-printable')), () =>
    literal(encoded),
  );
  const fetched = await mail.fetch(fetchOf(`${message}/;SECTION=2`), signal);
  expect(fetched.kind === 'content' && Buffer.from(fetched.content).toString()).toBe(decoded);
});

test('blanks behind equals signs take time by their number alone', async () => {
  const encoded = `${'='.repeat(20_000)}${`=${' '.repeat(500)}`.repeat(2_000)}x`;
  const before = process.cpuUsage();
  expect(decodePart('quoted-printable', Buffer.from(encoded)).toString()).toBe(encoded);
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1_000).toBeLessThan(1_500);
});
