import { once } from 'node:events';
import { connect as dial, createServer, type AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { imapSource } from '#adapters/sources/imap/imap-source.ts';
import { imapProvider } from '#adapters/sources/imap/provider.ts';
import { imapScope } from '#adapters/sources/imap/scope.ts';
import { burdenOf } from '../../support/sources/burden-of.ts';
import { openSource } from '../../support/sources/open-source.ts';
import { endScriptedImap, serveImap as serve } from '../../support/sources/scripted-imap.ts';

const signal = AbortSignal.timeout(600_000);
afterEach(endScriptedImap);

const first = { cursor: null, checkpoint: null };

test.each([
  ['LOGIN', 'NO [AUTHENTICATIONFAILED] words of the source', 'auth_failed'],
  ['LOGIN', 'NO words of the source', 'auth_failed'],
  ['LOGIN', 'NO [UNAVAILABLE] words of the source', 'source_unreachable'],
  ['LOGIN', 'NO [LIMIT] words of the source', 'rate_limited'],
  ['EXAMINE', 'NO [NONEXISTENT] words of the source', 'scope_invalid'],
  ['EXAMINE', 'NO [NOPERM] words of the source', 'auth_failed'],
  ['EXAMINE', 'NO [SERVERBUG] words of the source', 'source_unreachable'],
  ['EXAMINE', 'NO [INUSE] words of the source', 'source_unreachable'],
  ['EXAMINE', 'NO [OVERQUOTA] words of the source', 'quota_exceeded'],
  ['EXAMINE', 'BAD words of the source', 'source_invalid'],
  ['EXAMINE', '* 1 EXISTS\r\n', 'source_invalid'],
  ['UID', 'NO words of the source', 'source_invalid'],
])('%s answered with %s fails as %s', async (command, answer, code) => {
  const failure = await (
    await serve({ [command]: answer })
  )
    .list(first, signal)
    .catch((error: unknown) => error);
  expect(failure).toMatchObject({ name: 'SourceFailure', code });
  expect(String(failure)).not.toMatch(/words of the source|canary-password/);
});

test('a server that never answers is unreachable within a bound, or ends with the signal of the caller', async () => {
  const silent = await serve({ greeting: null });
  const began = Date.now();
  await expect(silent.check(AbortSignal.timeout(300))).rejects.toMatchObject({ name: 'TimeoutError' });
  expect(Date.now() - began).toBeLessThan(3_000);
  await expect(silent.check(signal)).rejects.toMatchObject({ code: 'source_unreachable' });
  expect(Date.now() - began).toBeLessThan(20_000);
});

test('a server that does not encrypt is refused before the password is sent', async () => {
  let said = '';
  const plain = await serve({ LOGIN: () => (said = 'password') }, { tls: 'starttls' });
  await expect(plain.check(signal)).rejects.toMatchObject({ code: 'scope_invalid' });
  expect(said).toBe('');
});

test('an answer that is no protocol is a failure', async () => {
  const web = await serve({ greeting: (socket) => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n') });
  await expect(web.check(signal)).rejects.toMatchObject({
    name: 'SourceFailure',
    code: 'source_unreachable',
  });
});

test.each([
  ['a line', '*'.repeat(65_536)],
  ['untagged answers', '* SEARCH 1 2 3\r\n'.repeat(4_096)],
])('%s without an end is cut at the limit of bytes', async (_, chunk) => {
  let sent = 0;
  const endless = await serve({
    'UID SEARCH': (socket) => {
      const more = () => {
        while (sent < 300_000_000 && socket.writable) {
          sent += chunk.length;
          if (!socket.write(chunk)) return;
        }
      };
      socket.on('drain', more);
      more();
    },
  });
  await expect(endless.list(first, signal)).rejects.toMatchObject({ code: 'source_invalid' });
  expect(sent).toBeLessThan(100_000_000);
});

test('an error of the stream after the connection is closed does not end the process', async () => {
  const uncaught: unknown[] = [];
  const note = (error: unknown) => void uncaught.push(error);
  process.on('uncaughtException', note);
  try {
    // The last part exceeds the limits of the line and of all bytes at once.
    const endless = await serve({
      'UID SEARCH': (socket) => {
        socket.write('*'.repeat(16 * 1_048_576 - 25_000));
        setTimeout(() => socket.write('*'.repeat(50_000)), 500);
      },
    });
    await expect(endless.list(first, signal)).rejects.toMatchObject({ code: 'source_invalid' });
    await new Promise((done) => setTimeout(done, 50));
    expect(uncaught).toEqual([]);
  } finally {
    process.off('uncaughtException', note);
  }
});

test('a message that is longer than the server says is too large, not read to its end', async () => {
  const longer = await serve({
    'UID FETCH': (socket, tag, line) => {
      const body = `BODY[]<0> {2000}\r\n${'x'.repeat(2_000)}`;
      socket.write(
        `* 1 FETCH (UID 1 ${line.includes('BODY') ? body : 'RFC822.SIZE 10'})\r\n${tag} OK done\r\n`,
      );
    },
  });
  const input = { ref: 'INBOX;UIDVALIDITY=7/;UID=1', version: null, mediaType: null, maxBytes: 1_000 };
  expect(await longer.fetch(input, signal)).toEqual({ kind: 'skipped', code: 'too_large' });
});

test('a literal beyond every limit ends the connection', async () => {
  const huge = await serve({
    'UID FETCH': (socket) => void socket.write('* 1 FETCH (UID 1 BODY[] {4000000000}\r\nxxx'),
  });
  const input = { ref: 'INBOX;UIDVALIDITY=7/;UID=1', version: null, mediaType: null, maxBytes: 1_000 };
  await expect(huge.fetch(input, signal)).rejects.toMatchObject({ code: 'source_invalid' });
});

test('messages that were not asked for are no documents', async () => {
  const liar = await serve({
    'UID FETCH':
      '* 1 FETCH (UID 1 RFC822.SIZE 10)\r\n* 2 FETCH (UID 99 RFC822.SIZE 10)\r\n* 1 FETCH (UID 1 RFC822.SIZE 11)\r\n',
  });
  const { documents } = await liar.list(first, signal);
  expect(documents).toMatchObject([{ ref: 'INBOX;UIDVALIDITY=7/;UID=1', byteSize: 10 }]);
});

test('a mailbox with UIDs far apart is searched in few commands', async () => {
  let searches = 0;
  const sparse = await serve({
    EXAMINE: '* 1 EXISTS\r\n* OK [UIDVALIDITY 7] x\r\n* OK [UIDNEXT 4294967295] x\r\n',
    'UID SEARCH': (socket, tag) => {
      searches += 1;
      socket.write(`* SEARCH 4294967290\r\n${tag} OK done\r\n`);
    },
    'UID FETCH': '* 1 FETCH (UID 4294967290 RFC822.SIZE 10)\r\n',
  });
  expect((await sparse.list(first, signal)).documents).toHaveLength(1);
  expect(searches).toBeLessThan(20);
});

const checkpoint = JSON.stringify({
  form: 2,
  mailboxes: [{ path: 'INBOX', validity: '7', next: 2, modseq: '5' }],
  since: null,
});
const resync = {
  greeting: '* OK [CAPABILITY IMAP4rev1 ENABLE CONDSTORE QRESYNC] ready\r\n',
  CAPABILITY: '* CAPABILITY IMAP4rev1 ENABLE CONDSTORE QRESYNC\r\n',
  ENABLE: '* ENABLED CONDSTORE QRESYNC\r\n',
  'UID FETCH': '* 1 FETCH (UID 1 RFC822.SIZE 10)\r\n',
};
const opened = (vanished: string) =>
  `* 1 EXISTS\r\n* OK [UIDVALIDITY 7] x\r\n* OK [UIDNEXT 2] x\r\n* OK [HIGHESTMODSEQ 9] x\r\n${vanished}`;

test('deleted messages are those that the server names, in ranges as one by one', async () => {
  const named = await serve({ ...resync, EXAMINE: opened('* VANISHED (EARLIER) 3:5,8\r\n') });
  const page = await named.list({ cursor: null, checkpoint }, signal);
  expect(page.scope).toBe('changes');
  expect(page.gone).toEqual([3, 4, 5, 8].map((uid) => `INBOX;UIDVALIDITY=7/;UID=${uid}`));
});

test.each([
  ['one range', '* VANISHED (EARLIER) 1:4294967295\r\n'],
  ['many ranges', `* VANISHED (EARLIER) ${'1:4294967295,'.repeat(100_000)}7\r\n`],
  ['many answers', '* VANISHED 1:4294967295\r\n'.repeat(1_000)],
])('deletions of more messages than a mailbox has, in %s, are not expanded', async (_, vanished) => {
  const hostile = await serve({ ...resync, EXAMINE: opened(vanished) });
  const { result, megabytes, blockedMs } = await burdenOf(() =>
    hostile.list({ cursor: null, checkpoint }, signal),
  );
  expect(result).toMatchObject({ scope: 'everything', gone: [] });
  expect(megabytes).toBeLessThan(150);
  expect(blockedMs).toBeLessThan(1_500);
});

const flagged = (count: number) =>
  Array.from({ length: count }, (_, at) => `* ${at + 1} FETCH (UID ${at + 1} FLAGS () MODSEQ (8))\r\n`).join(
    '',
  );

test('more changes of flags than are read have everything listed, in each run', async () => {
  const opening: string[] = [];
  const busy = await serve({
    ...resync,
    EXAMINE: (socket, tag, line) => {
      opening.push(line.includes('QRESYNC') ? 'changes' : 'everything');
      socket.write(`${opened(line.includes('QRESYNC') ? flagged(50_100) : '')}${tag} OK done\r\n`);
    },
  });
  for (let run = 0; run < 2; run += 1) {
    const page = await busy.list({ cursor: null, checkpoint }, signal);
    expect(page).toMatchObject({ scope: 'everything', gone: [], documents: { length: 1 } });
    expect(JSON.parse(page.checkpoint ?? '')).toMatchObject({ mailboxes: [{ modseq: '9' }] });
  }
  expect(opening).toEqual(['changes', 'everything', 'changes', 'everything']);
});

test('each mailbox may have as many changes of flags', async () => {
  const mailboxes = ['INBOX', 'One', 'Two'];
  const busy = await serve(
    {
      ...resync,
      LIST: mailboxes.map((path) => `* LIST () "/" ${path}\r\n`).join(''),
      EXAMINE: (socket, tag, line) => {
        socket.write(`${opened(line.includes('QRESYNC') ? flagged(30_000) : '')}${tag} OK done\r\n`);
      },
    },
    { mailboxes },
  );
  const state = { validity: '7', next: 2, modseq: '5' };
  const before = { form: 2, mailboxes: mailboxes.map((path) => ({ path, ...state })), since: null };
  const page = await busy.list({ cursor: null, checkpoint: JSON.stringify(before) }, signal);
  expect(page).toMatchObject({ scope: 'changes', gone: [] });
});

test.each(['starttls', 'off'] as const)(
  'with tls %s no name is dialled that the guard has not seen',
  async (tls) => {
    let dialled = 0;
    const mail = createServer((socket) => {
      dialled += 1;
      socket.on('error', () => {});
      setTimeout(() => socket.resetAndDestroy(), 20);
    });
    await once(mail.listen(0, '127.0.0.1'), 'listening');
    const { port } = mail.address() as AddressInfo;
    const scope = imapScope.parse({ host: 'localhost', port, tls });
    // Of a connection that was reset before it is looked at no address is known.
    const connect = async () => {
      const socket = dial(port, '127.0.0.1').on('error', () => {});
      await new Promise((done) => void socket.once('close', done));
      expect(socket.remoteAddress).toBeUndefined();
      return socket;
    };
    const credential = { kind: 'basic', username: 'reader', password: 'canary-password' } as const;
    const reset = imapSource(scope, { connect, credential });
    await expect(reset.check(signal)).rejects.toMatchObject({ code: 'source_unreachable' });
    expect(dialled).toBe(1);
    await reset.close?.();
    mail.close();
  },
);

test.each([
  ['a range', '* 4294967295 EXISTS\r\n* ESEARCH (TAG "A1") UID ALL 1:4294967295\r\n'],
  ['ranges', `* ESEARCH (TAG "A1") UID ALL ${'1:4294967295,'.repeat(100_000)}7\r\n`],
  ['a list', `* SEARCH${' 1'.repeat(5_000_000)}\r\n`],
  ['something else', `* OK [UIDNOTSTICKY ${'1:2,'.repeat(500_000)}7]\r\n`],
  ['many words', `* X${' a'.repeat(5_000_000)}\r\n`],
])('results of more messages than a mailbox has, in %s, are refused, not expanded', async (_, answer) => {
  const hostile = await serve({ 'UID SEARCH': answer });
  const { result, megabytes, blockedMs } = await burdenOf(() =>
    hostile.list(first, signal).catch((error: unknown) => error),
  );
  expect(result).toMatchObject({ name: 'SourceFailure', code: 'source_invalid' });
  expect(megabytes).toBeLessThan(150);
  expect(blockedMs).toBeLessThan(1_500);
});

test('a server of the next revision answers a search with a set', async () => {
  const next = await serve({
    'UID SEARCH': '* ESEARCH (TAG "A1") UID ALL 1\r\n',
    'UID FETCH': resync['UID FETCH'],
  });
  expect((await next.list(first, signal)).documents).toHaveLength(1);
});

test('without encryption a public address is refused that the operator does not list', async () => {
  const origin = 'imap://8.8.8.8:143';
  const plain = await openSource(imapProvider, {
    slug: 'imap',
    scopeConfig: { host: '8.8.8.8', port: 143, tls: 'off' },
    credential: { origin, value: { kind: 'basic', username: 'reader', password: 'canary-password' } },
    allowedOrigins: [],
    roots: {},
  });
  const refusal = await plain.check(signal).catch((error: unknown) => error);
  expect(refusal).toMatchObject({ name: 'SourceFailure', code: 'scope_invalid' });
  expect(String(refusal)).toContain('EGRESS_ALLOW');
});

test('a position that cannot be read begins the listing again', async () => {
  const usual = await serve({});
  await expect(usual.list({ cursor: '{}', checkpoint: null }, signal)).rejects.toMatchObject({
    code: 'cursor_expired',
  });
});
