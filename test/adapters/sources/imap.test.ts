import * as fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { imapProvider } from '#adapters/sources/imap/provider.ts';
import type { Source } from '#domain/knowledge/connectors/source.ts';
import {
  hasDovecot,
  messageOf,
  startImapServer,
  type ImapServer,
} from '../../support/sources/imap-server.ts';
import { expectEmpty } from '../../support/sources/expect-empty.ts';
import { expectNarrowed } from '../../support/sources/narrowed-scope.ts';
import { oddNames } from '../../support/sources/odd-names.ts';
import { listAll, openSource } from '../../support/sources/open-source.ts';
import { makeTestCertificate } from '../../support/sources/test-certificate.ts';

const signal = AbortSignal.timeout(600_000);
const provider = imapProvider;
const certificate = makeTestCertificate();
const day = 86_400_000;

// Without Debian's package dovecot-imapd there is no mail server to test against.
describe.skipIf(!hasDovecot())('mailboxes of Dovecot', () => {
  let server: ImapServer;
  let source: Source;
  const opened: Source[] = [];
  const open = async (scope: Record<string, unknown> = {}, from = server) => {
    const other = await openSource(provider, { ...from, scopeConfig: { ...from.scopeConfig, ...scope } });
    opened.push(other);
    return other;
  };
  const names = async (from = source) => (await listAll(from)).documents.map(({ name }) => name).toSorted();
  const fetchOne = (ref: string, version: string | null = null, maxBytes = 1_000_000) =>
    source.fetch({ ref, version, mediaType: null, maxBytes }, signal);
  const empty = (mailbox = 'INBOX') =>
    server.command(async (client) => {
      await client.mailboxOpen(mailbox);
      await client.messageDelete('1:*', { uid: true });
    });

  beforeAll(async () => {
    server = await startImapServer({ certificate });
    source = await open();
  });
  beforeEach(() => empty());
  afterAll(async () => {
    for (const each of opened) await each.close?.();
    await server.close();
  });

  test('an empty mailbox has no documents, and the check passes', async () => {
    await expectEmpty(source, signal);
  });

  test('a message is listed with its subject and size, and fetched as it is', async () => {
    const message = messageOf('Grüße/an alle', 'text');
    await server.append('INBOX', message);
    const [document] = (await listAll(source)).documents;
    expect(document).toMatchObject({
      name: 'INBOX/Grüße-an alle.eml',
      byteSize: message.byteLength,
      mediaType: 'message/rfc822',
      url: null,
    });
    expect(await fetchOne(document?.ref ?? '')).toMatchObject({ kind: 'content', content: message });
    expect(await fetchOne(document?.ref ?? '', document?.version)).toEqual({ kind: 'unchanged' });
    expect(await source.exists(document?.ref ?? '', signal)).toBe(true);
  });

  test('reading leaves messages unseen', async () => {
    await server.put('a', 'text');
    const [document] = (await listAll(source)).documents;
    await fetchOne(document?.ref ?? '');
    const unseen = await server.command((client) => client.status('INBOX', { unseen: true }));
    expect(unseen).toMatchObject({ unseen: 1 });
  });

  test('after a complete listing only new and deleted messages are listed', async () => {
    await server.put('a', 'text');
    await server.put('b', 'text');
    const before = await listAll(source);
    expect(await listAll(source, before.checkpoint)).toMatchObject({
      documents: [],
      gone: [],
      scope: 'changes',
    });
    await server.put('c', 'text');
    await server.remove('a');
    const after = await listAll(source, before.checkpoint);
    expect(after).toMatchObject({ scope: 'changes', gone: [before.documents[0]?.ref] });
    expect(after.documents.map(({ name }) => name)).toEqual(['INBOX/c.eml']);
    expect(await source.exists(before.documents[0]?.ref ?? '', signal)).toBe(false);
    expect(await fetchOne(before.documents[0]?.ref ?? '')).toEqual({ kind: 'gone' });
    expect(await listAll(source, after.checkpoint)).toMatchObject({
      documents: [],
      gone: [],
      scope: 'changes',
    });
  });

  test('a change of flags changes no document', async () => {
    await server.put('a', 'text');
    const before = await listAll(source);
    await server.command(async (client) => {
      await client.mailboxOpen('INBOX');
      await client.messageFlagsAdd('1:*', [String.raw`\Flagged`]);
    });
    expect(await listAll(source, before.checkpoint)).toMatchObject({
      documents: [],
      gone: [],
      scope: 'changes',
    });
  });

  test('a mailbox that the server numbers again is listed again', async () => {
    await server.command((client) => client.mailboxCreate('Numbered'));
    await server.append('Numbered', messageOf('a', 'text'));
    const numbered = await open({ mailboxes: ['INBOX', 'Numbered'] });
    const before = await listAll(numbered);
    await server.renumber('Numbered');
    const after = await listAll(numbered, before.checkpoint);
    expect(after).toMatchObject({ scope: 'everything', documents: [{ name: 'Numbered/a.eml' }] });
    expect(after.documents[0]?.ref).not.toBe(before.documents[0]?.ref);
    const input = { ref: before.documents[0]?.ref ?? '', version: null, mediaType: null, maxBytes: 1_000 };
    expect(await numbered.fetch(input, signal)).toEqual({ kind: 'gone' });
    expect(await numbered.exists(input.ref, signal)).toBe(false);
  });

  test('messages of a mailbox that the scope no longer names do not exist for it', async () => {
    await server.command((client) => client.mailboxCreate('Left'));
    await server.put('a', 'text');
    await server.append('Left', messageOf('b', 'text'));
    const both = { ...server, scopeConfig: { ...server.scopeConfig, mailboxes: ['INBOX', 'Left'] } };
    await expectNarrowed(provider, both, { mailboxes: ['INBOX'] });
  });

  test('subjects in ten scripts and with odd characters become names', async () => {
    for (const name of oddNames) await server.put(name, name);
    const expected = oddNames.map((name) => `INBOX/${name.replaceAll('/', '-')}.eml`);
    expect(await names()).toEqual(expected.toSorted());
    await server.append('INBOX', 'From: a@example.org\r\n\r\nno subject\r\n');
    expect((await names()).some((name) => /^INBOX\/message \d+\.eml$/.test(name))).toBe(true);
  });

  test('mailboxes with names in several scripts are listed each by itself', async () => {
    const mailboxes = ['Entwürfe & mehr', '受信箱/2026', 'a+b 100;x'];
    const several = [];
    for (const path of mailboxes) {
      await server.command((client) => client.mailboxCreate(path));
      await server.append(path, messageOf(path, 'text'));
    }
    const other = await open({ mailboxes: ['INBOX', ...mailboxes] });
    for (const { ref, name } of (await listAll(other)).documents) {
      several.push(name);
      expect(await other.exists(ref, signal)).toBe(true);
    }
    expect(several).toEqual(mailboxes.map((path) => `${path}/${path.replaceAll('/', '-')}.eml`));
  });

  test('messages older than the days of the scope are left out, and leave when days pass', async () => {
    await server.append('INBOX', messageOf('old', 'text'), new Date(Date.now() - 40 * day));
    await server.append('INBOX', messageOf('older', 'text'), new Date(Date.now() - 20 * day));
    await server.append('INBOX', messageOf('new', 'text'));
    const recent = await open({ since_days: 30 });
    const before = await listAll(recent);
    expect(before.documents.map(({ name }) => name)).toEqual(['INBOX/older.eml', 'INBOX/new.eml']);
    const fewer = await open({ since_days: 10 });
    // A listing of everything lacks it, too, and deletes what does not exist.
    expect(await fewer.exists(before.documents[0]?.ref ?? '', signal)).toBe(false);
    expect(await fewer.exists(before.documents[1]?.ref ?? '', signal)).toBe(true);
    const later = await listAll(fewer, before.checkpoint);
    expect(later).toMatchObject({ scope: 'changes', documents: [], gone: [before.documents[0]?.ref] });
    expect(await listAll(await open({ since_days: 60 }), before.checkpoint)).toMatchObject({
      scope: 'everything',
      documents: { length: 3 },
    });
  });

  test('pages end where the number of messages says', async () => {
    let count = 0;
    for (const total of [0, 1, 99, 100, 101, 1_234]) {
      await server.command(async (client) => {
        for (; count < total; count += 1) await client.append('INBOX', messageOf(`m${count}`, 'text'));
      });
      const { documents, pages } = await listAll(source);
      expect(new Set(documents.map(({ ref }) => ref)).size).toBe(total);
      expect(pages).toBe(Math.max(1, Math.ceil(total / 100)));
    }
    expect((await listAll(source)).documents.map(({ name }) => name)[1_000]).toBe('INBOX/m1000.eml');
  });

  test('a message over the limit is skipped without being transferred', async () => {
    await server.put('large', 'x'.repeat(3_000_000));
    const [document] = (await listAll(source)).documents;
    expect(await fetchOne(document?.ref ?? '', null, 1_000_000)).toEqual({
      kind: 'skipped',
      code: 'too_large',
    });
    const fetched = await fetchOne(document?.ref ?? '', null, 10_000_000);
    expect(fetched.kind === 'content' && fetched.content.byteLength).toBe(document?.byteSize);
  });

  test('references that are not of the scope are gone', async () => {
    for (const ref of ['x', 'Other;UIDVALIDITY=1/;UID=1', '%E0%A4;UIDVALIDITY=1/;UID=1']) {
      expect(await fetchOne(ref)).toEqual({ kind: 'gone' });
      expect(await source.exists(ref, signal)).toBe(false);
    }
  });

  test('a mailbox that does not exist is an invalid scope', async () => {
    const failing = await open({ mailboxes: ['INBOX', 'No such'] });
    await expect(failing.check(signal)).rejects.toMatchObject({
      name: 'SourceFailure',
      code: 'scope_invalid',
    });
    await expect(listAll(failing)).rejects.toMatchObject({ code: 'scope_invalid' });
  });

  test('a refused password fails the authentication until it is renewed', async () => {
    await server.put('a', 'text');
    await source.check(signal);
    const value = await server.renewCredential();
    await new Promise((done) => setTimeout(done, 100));
    await expect(source.check(signal)).rejects.toMatchObject({ code: 'auth_failed' });
    server.credential = { origin: server.allowedOrigins[0] ?? '', value };
    source = await open();
    expect(await names()).toEqual(['INBOX/a.eml']);
  });

  test('a broken connection is unreachable, and is made again when the server is back', async () => {
    await server.put('a', 'text');
    await source.check(signal);
    await server.stop();
    await expect(listAll(source)).rejects.toMatchObject({ code: 'source_unreachable' });
    await expect(listAll(source)).rejects.toMatchObject({ code: 'source_unreachable' });
    await server.start();
    expect(await names()).toEqual(['INBOX/a.eml']);
  });

  test('calls at the same time take turns on the connection', async () => {
    for (const name of ['a', 'b', 'c']) await server.put(name, name);
    const { documents } = await listAll(source);
    const fetched = await Promise.all(documents.map(({ ref }) => fetchOne(ref)));
    expect(fetched.map((each) => each.kind === 'content' && Buffer.from(each.content).toString())).toEqual(
      ['a', 'b', 'c'].map((name) => messageOf(name, name).toString()),
    );
  });

  test('an address that is not listed is refused', async () => {
    const unlisted = await openSource(provider, { ...server, allowedOrigins: [] });
    await expect(unlisted.check(signal)).rejects.toMatchObject({ code: 'scope_invalid' });
  });

  describe.skipIf(certificate === null)('encrypted', () => {
    test.each(['implicit', 'starttls'] as const)(
      'a connection with tls %s needs a trusted certificate',
      async (tls) => {
        await server.put('a', 'text');
        const port = tls === 'implicit' ? server.ports.tls : server.ports.plain;
        const origin = `${tls === 'implicit' ? 'imaps' : 'imap'}://127.0.0.1:${port}`;
        const encrypted = (tls_certificate: string | null) =>
          open({ port, tls, tls_certificate }, { ...server, allowedOrigins: [origin] });
        await expect((await encrypted(null)).check(signal)).rejects.toMatchObject({ code: 'scope_invalid' });
        expect(await names(await encrypted(certificate?.certificate ?? ''))).toEqual(['INBOX/a.eml']);
      },
    );
  });

  describe.each([false, true])('without QRESYNC: %s', (withoutResync) => {
    test('after any changes the listing with its checkpoint equals the mailbox', async () => {
      const own = await startImapServer({ withoutResync });
      const reader = await open({}, own);
      const key = fc.constantFrom('a', 'b', 'ä', 'd e', 'F');
      const change = fc.oneof(
        fc.record({ kind: fc.constant('put' as const), key, text: fc.string({ maxLength: 20 }) }),
        fc.record({ kind: fc.constant('move' as const), key, to: key }),
        fc.record({ kind: fc.constant('remove' as const), key }),
      );
      const model = new Map<string, string>();
      const copy = new Map<string, string>();
      let checkpoint: string | null = null;
      const scopes = new Set<string>();
      await fc.assert(
        fc.asyncProperty(fc.array(change, { maxLength: 6 }), async (round) => {
          for (const each of round) {
            if (each.kind === 'put') {
              model.set(each.key, each.text);
              await own.put(each.key, each.text);
            } else if (each.kind === 'remove') {
              model.delete(each.key);
              await own.remove(each.key);
            } else if (model.has(each.key) && !model.has(each.to)) {
              model.set(each.to, model.get(each.key) ?? '');
              model.delete(each.key);
              await own.move(each.key, each.to);
            }
          }
          const listing = await listAll(reader, checkpoint);
          checkpoint = listing.checkpoint;
          scopes.add(listing.scope);
          if (listing.scope === 'everything') {
            const refs = new Set(listing.documents.map(({ ref }) => ref));
            for (const ref of copy.keys()) if (!refs.has(ref)) copy.delete(ref);
          }
          for (const ref of listing.gone) copy.delete(ref);
          for (const { ref } of listing.documents) {
            if (copy.has(ref)) continue;
            const fetched = await reader.fetch(
              { ref, version: null, mediaType: null, maxBytes: 100_000 },
              signal,
            );
            copy.set(
              ref,
              fetched.kind === 'content' ? Buffer.from(fetched.content).toString() : fetched.kind,
            );
          }
          const expected = [...model].map(([name, text]) => messageOf(name, text).toString());
          expect([...copy.values()].toSorted()).toEqual(expected.toSorted());
        }),
        { numRuns: 25 },
      );
      expect([...scopes]).toEqual(withoutResync ? ['everything'] : ['everything', 'changes']);
      await reader.close?.();
      await own.close();
    });
  });
});
