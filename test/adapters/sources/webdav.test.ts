import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { webdavProvider } from '#adapters/sources/webdav/provider.ts';
import type { Source } from '#domain/knowledge/connectors/source.ts';
import { maxPause } from '#test/support/max-pause.ts';
import { expectNarrowed } from '#test/support/sources/narrowed-scope.ts';
import { oddNames } from '#test/support/sources/odd-names.ts';
import { listAll, openSource } from '#test/support/sources/open-source.ts';
import {
  startWebdavServer,
  withoutWebdav,
  type WebdavKind,
  type WebdavServer,
} from '#test/support/sources/webdav-server.ts';

const servers: WebdavServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

async function serve(kind: WebdavKind, options: { secured?: boolean } = {}): Promise<WebdavServer> {
  const server = await startWebdavServer(kind, options);
  servers.push(server);
  return server;
}

const open = (server: WebdavServer, scope: object = {}) =>
  openSource(webdavProvider, { ...server, scopeConfig: { ...server.scopeConfig, ...scope } });
const soon = () => AbortSignal.timeout(30_000);

async function read(source: Source, ref: string, maxBytes = 1_000_000, version: string | null = null) {
  const fetched = await source.fetch({ ref, version, mediaType: null, maxBytes }, soon());
  return fetched.kind === 'content' ? Buffer.from(fetched.content).toString() : fetched;
}

const refs = (listing: { documents: readonly { ref: string }[] }) => listing.documents.map(({ ref }) => ref);
const kinds: WebdavKind[] = ['apache2', 'rclone'];

describe.each(kinds)('%s', (kind) => {
  const missing = withoutWebdav(kind);
  const where = missing === null ? kind : `skipped: ${missing}`;

  describe.skipIf(missing !== null)(where, () => {
    test('lists everything, and what was changed, moved and deleted since', async () => {
      const server = await serve(kind);
      await server.put('a.md', 'first');
      await server.put('folder/b.md', 'second');
      await server.put('folder/deep/c.md', 'third');
      const source = await open(server);
      await source.check(soon());
      const first = await listAll(source);
      expect(first).toMatchObject({ scope: 'everything', truncated: false, checkpoint: null, pages: 1 });
      expect(refs(first)).toEqual(['a.md', 'folder/b.md', 'folder/deep/c.md']);
      expect(first.documents[0]).toMatchObject({ byteSize: 5, version: expect.stringContaining('etag "') });
      expect(await read(source, 'folder/deep/c.md')).toBe('third');
      expect((await listAll(await open(server))).documents).toEqual(first.documents);
      expect(await read(source, 'a.md', 10, first.documents[0]?.version)).toEqual({ kind: 'unchanged' });

      await server.put('a.md', 'changed');
      await server.move('folder/b.md', 'moved.md');
      await server.remove('folder/deep/c.md');
      const second = await listAll(source);
      expect(refs(second)).toEqual(['a.md', 'moved.md']);
      expect(second.documents[0]?.version).not.toBe(first.documents[0]?.version);
      expect(await read(source, 'a.md', 10, first.documents[0]?.version)).toBe('changed');
      expect(await read(source, 'folder/b.md')).toEqual({ kind: 'gone' });
      const asked = ['a.md', 'folder/b.md', 'folder/deep'].map((ref) => source.exists(ref, soon()));
      expect(await Promise.all(asked)).toEqual([true, false, false]);
      await server.remove('a.md');
      await server.remove('moved.md');
      expect(await listAll(source)).toMatchObject({ documents: [], truncated: false });
    });

    test('what a narrower scope leaves out does not exist for it, and is gone', async () => {
      const server = await serve(kind);
      for (const name of ['docs/a.md', 'docs/b.txt', 'docs/drafts/deep/c.md', 'docs2/d.md', 'e.md']) {
        await server.put(name, name);
      }
      for (const narrower of [{ path: 'docs' }, { include: ['*.txt'] }, { exclude: ['docs/drafts/'] }]) {
        await expectNarrowed(webdavProvider, server, narrower);
      }
      const narrow = await open(server, { path: 'docs', exclude: ['drafts/'] });
      expect(await narrow.exists('docs/a.md', soon())).toBe(true);
      for (const ref of ['docs2/d.md', 'e.md', 'docs/drafts/deep/c.md']) {
        expect([await narrow.exists(ref, soon()), await read(narrow, ref)]).toEqual([
          false,
          { kind: 'gone' },
        ]);
      }
    });

    test.each([0, 1, 100, 101])('pages of %i documents', async (count) => {
      const server = await serve(kind);
      for (let each = 0; each < count; each += 1) await server.put(`${each}.md`, String(each));
      const listing = await listAll(await open(server));
      expect([new Set(refs(listing)).size, listing.pages]).toEqual([count, count > 100 ? 2 : 1]);
    });

    test('1,500 documents in one folder and 90 others, also when each page opens the source again', async () => {
      const server = await serve(kind);
      for (let each = 0; each < 1_300; each += 1) await server.put(`m/${each}.md`, String(each));
      for (let each = 0; each < 200; each += 1) await server.put(`a/${each % 90}/${each}.md`, String(each));
      const listing = await listAll(await open(server));
      expect(new Set(refs(listing)).size).toBe(1_500);
      expect(listing.documents).toHaveLength(1_500);
      const again: string[] = [];
      for (let cursor: string | null = null; ;) {
        const page = await (await open(server)).list({ cursor, checkpoint: null }, soon());
        again.push(...refs(page));
        if ((cursor = page.next) === null) break;
        expect(cursor.length).toBeLessThan(200);
      }
      expect(again).toEqual(refs(listing));
    });

    test('names in ten scripts and with odd characters come back as they are', async () => {
      const server = await serve(kind);
      // rclone maps what other systems cannot store.
      const names = kind === 'rclone' ? oddNames.filter((name) => !name.includes('\\')) : oddNames;
      for (const name of names) await server.put(name, `content of ${name}`);
      const source = await open(server);
      expect(refs(await listAll(source)).toSorted()).toEqual(names.toSorted());
      for (const name of names) {
        expect(await read(source, name)).toBe(`content of ${name}`);
        expect(await source.exists(name, soon())).toBe(true);
      }
    });

    test('folder and patterns; excluded folders are not visited; a folder that is missing is named', async () => {
      const server = await serve(kind);
      for (const name of ['docs/a.md', 'docs/b.txt', 'docs/drafts/c.md', 'docs/deep/d.md', 'e.md']) {
        await server.put(name, name);
      }
      const source = await open(server, { path: '/docs/', include: ['*.md'], exclude: ['drafts/'] });
      const before = server.requests();
      expect(refs(await listAll(source))).toEqual(['docs/a.md', 'docs/deep/d.md']);
      expect(server.requests() - before).toBe(2);
      expect(await read(source, 'docs/deep/d.md')).toBe('docs/deep/d.md');
      for (const path of ['none', 'e.md', 'e.md/x']) {
        const wrong = await open(server, { path });
        await expect(wrong.check(soon())).rejects.toMatchObject({ code: 'scope_invalid' });
        await expect(listAll(wrong)).rejects.toMatchObject({ code: 'scope_invalid' });
      }
    });

    test('a file beyond maxBytes is not read to its end; at the limit it is', async () => {
      const server = await serve(kind);
      await server.put('exact.bin', Buffer.alloc(5_000, 'x'));
      await server.put('large.bin', Buffer.alloc(30_000_000, 'x'));
      const source = await open(server);
      expect(await read(source, 'exact.bin', 5_000)).toBe('x'.repeat(5_000));
      expect(await read(source, 'exact.bin', 4_999)).toEqual({ kind: 'skipped', code: 'too_large' });
      expect(await read(source, 'large.bin', 1_000)).toEqual({ kind: 'skipped', code: 'too_large' });
      await server.put('empty.md', '');
      expect(await read(source, 'empty.md')).toBe('');
    });

    test('a file that became a folder, and a folder that vanishes during the walk', async () => {
      const server = await serve(kind);
      await server.put('a/x.md', 'x');
      for (let each = 0; each < 100; each += 1) await server.put(`b/${each}.md`, 'b');
      await server.put('c/y.md', 'y');
      const source = await open(server);
      const page = await source.list({ cursor: null, checkpoint: null }, soon());
      expect(page.next).not.toBeNull();
      await server.remove('b');
      await server.remove('a');
      await server.put('a', 'a file now');
      const rest = await (await open(server)).list({ cursor: page.next, checkpoint: null }, soon());
      expect([refs(rest), rest.next]).toEqual([['c/y.md'], null]);
      expect(await read(source, 'c')).not.toMatchObject({ kind: 'content' });
    });
  });
});

describe.skipIf(withoutWebdav('apache2') !== null)('Apache alone', () => {
  test('a refused credential, and its renewal', async () => {
    const server = await serve('apache2', { secured: true });
    await server.put('a.md', 'secret');
    expect(await read(await open(server), 'a.md')).toBe('secret');
    const value = await server.renewCredential?.();
    const refused = await open(server);
    for (const act of [
      () => refused.check(soon()),
      () => refused.list({ cursor: null, checkpoint: null }, soon()),
      () => read(refused, 'a.md'),
      () => refused.exists('a.md', soon()),
    ]) {
      await expect(act()).rejects.toMatchObject({ code: 'auth_failed' });
    }
    const renewed = { ...server, credential: { origin: server.allowedOrigins[0] ?? '', value: value! } };
    expect(await read(await openSource(webdavProvider, renewed), 'a.md')).toBe('secret');
  });

  test('what the credential may not read is left out, and not taken for deleted', async () => {
    const server = await serve('apache2');
    await server.put('open/a.md', 'a');
    await server.put('closed/b.md', 'b');
    await server.put('c.md', 'c');
    await chmod(server.pathOf('closed'), 0o700);
    await chmod(server.pathOf('c.md'), 0o600);
    const source = await open(server);
    expect(refs(await listAll(source))).toEqual(['c.md', 'open/a.md']);
    expect(await read(source, 'c.md')).toEqual({ kind: 'skipped', code: 'forbidden_by_source' });
    expect(await source.exists('closed/b.md', soon())).toBe(true);
  });

  test('20,000 files in one folder are read in a thread', async () => {
    const server = await serve('apache2');
    await mkdir(server.pathOf('many'));
    for (let each = 0; each < 20_000; each += 1) await writeFile(server.pathOf(`many/${each}.md`), '');
    const before = server.requests();
    const longest = await maxPause(async () => {
      const listing = await listAll(await open(server));
      expect([new Set(refs(listing)).size, server.requests() - before]).toEqual([20_000, 2]);
    });
    expect(longest).toBeLessThan(300);
  });
});
