import { execFile } from 'node:child_process';
import { chmod, link, mkdir, rename, rm, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { filesystemProvider } from '#adapters/sources/filesystem/provider.ts';
import type { Source } from '#domain/knowledge/connectors/source.ts';
import { asAnybody } from '#test/support/as-anybody.ts';
import { unusualNames } from '#test/support/sources/file-names.ts';
import { startFilesystemServer, type FilesystemServer } from '#test/support/sources/filesystem-server.ts';
import { expectNarrowed } from '#test/support/sources/narrowed-scope.ts';
import { listAll, openSource } from '#test/support/sources/open-source.ts';

const signal = AbortSignal.timeout(600_000);
const maxBytes = 1_000_000;
/** Longer than the time in which a change may get the time of the one before. */
const tick = () => sleep(150);

let server: FilesystemServer;
beforeEach(async () => {
  server = await startFilesystemServer();
});
afterEach(() => server.close());

const open = (scope: Record<string, unknown> = {}): Promise<Source> =>
  openSource(filesystemProvider, {
    ...server,
    scopeConfig: { ...server.scopeConfig, ...scope },
  });
const refsOf = async (source: Source) => (await listAll(source)).documents.map(({ ref }) => ref);
const textOf = async (source: Source, ref: string, version: string | null = null) => {
  const fetched = await source.fetch({ ref, version, mediaType: null, maxBytes }, signal);
  return fetched.kind === 'content' ? Buffer.from(fetched.content).toString() : fetched.kind;
};

describe('a folder', () => {
  it('lists every file with its size, and reads it', async () => {
    await server.put('b.md', 'two');
    await server.put('a/deep/er.md', 'one');
    const source = await open();
    await source.check(signal);
    const { documents, scope, truncated, checkpoint, gone } = await listAll(source);
    expect(documents).toMatchObject([
      { ref: 'a/deep/er.md', name: 'a/deep/er.md', byteSize: 3 },
      { ref: 'b.md', name: 'b.md', byteSize: 3 },
    ]);
    expect({ scope, truncated, checkpoint, gone }).toEqual({
      scope: 'everything',
      truncated: false,
      checkpoint: null,
      gone: [],
    });
    expect(documents[0]).not.toHaveProperty('readers');
    expect(await textOf(source, 'a/deep/er.md')).toBe('one');
  });

  it('keeps versions while nothing changes, and gives a changed file another one', async () => {
    await server.put('same.md', 'same');
    await server.put('edited.md', 'old');
    await tick();
    const source = await open();
    const before = await listAll(source);
    expect((await listAll(source)).documents).toEqual(before.documents);
    const same = before.documents.find(({ ref }) => ref === 'same.md')!;
    expect(await textOf(source, 'same.md', same.version)).toBe('unchanged');

    await server.put('edited.md', 'new');
    await tick();
    const after = await listAll(source);
    const changed = after.documents.filter(({ ref, version }) =>
      before.documents.every((each) => each.ref !== ref || each.version !== version),
    );
    expect(changed.map(({ ref }) => ref)).toEqual(['edited.md']);
    expect(await textOf(source, 'edited.md', before.documents[0]!.version)).toBe('new');
  });

  it('gives no version to a file that was written a moment ago, or a second ago where seconds are stored', async () => {
    const source = await open();
    // On a busy machine the listing may come later than the clock's tick.
    await expect
      .poll(async () => {
        await server.put('now.md', 'now');
        return (await listAll(source)).documents;
      })
      .toMatchObject([{ version: null }]);
    const second = Math.floor(Date.now() / 1_000);
    await utimes(join(server.folder, 'now.md'), second, second);
    expect((await listAll(source)).documents).toMatchObject([{ version: null }]);
    await utimes(join(server.folder, 'now.md'), second - 10, second - 10);
    expect((await listAll(source)).documents).toMatchObject([{ version: expect.any(String) as string }]);
  });

  it('sees that a file of the same time and size was replaced', async () => {
    const source = await open();
    for (const name of ['a.md', 'b.md']) {
      await server.put(name, name);
      await utimes(join(server.folder, name), 1_000, 1_000);
    }
    const [first] = (await listAll(source)).documents;
    await server.move('b.md', 'a.md');
    const [second] = (await listAll(source)).documents;
    expect(second!.version).not.toBe(first!.version);
  });

  it('lists a renamed file at its new path, and no deleted one', async () => {
    for (const name of ['kept.md', 'old.md', 'deleted.md']) {
      await server.put(name, name);
    }
    const source = await open();
    await listAll(source);
    await server.move('old.md', 'folder/new.md');
    await server.remove('deleted.md');
    expect(await refsOf(source)).toEqual(['folder/new.md', 'kept.md']);
    expect(await textOf(source, 'deleted.md')).toBe('gone');
    expect(await source.exists('deleted.md', signal)).toBe(false);
    expect(await source.exists('old.md', signal)).toBe(false);
    expect(await source.exists('folder/new.md', signal)).toBe(true);
    expect(await source.exists('folder', signal)).toBe(false);
  });

  it.each([0, 1, 499, 500, 501, 1_000, 1_100])('lists %i files, each once', async (count) => {
    const names = Array.from({ length: count }, (_, at) => `${at % 7}/${String(at).padStart(5, '0')}.md`);
    await Promise.all(names.map((name) => server.put(name, '')));
    const source = await open();
    expect(await refsOf(source)).toEqual(names.toSorted());
  });

  it('continues from each cursor in a process that did not list the pages before', async () => {
    const names = Array.from({ length: 1_250 }, (_, at) => `${at % 40}/x/${at}.md`);
    await Promise.all(names.map((name) => server.put(name, '')));
    const found: string[] = [];
    let cursor: string | null = null;
    do {
      const page = await (await open()).list({ cursor, checkpoint: null }, signal);
      found.push(...page.documents.map(({ ref }) => ref));
      cursor = page.next;
    } while (cursor !== null);
    expect(found.toSorted()).toEqual(names.toSorted());
  });

  it('keeps its place while files before and after it come and go', async () => {
    for (let at = 0; at < 650; at += 1) {
      await server.put(`${String(at).padStart(3, '0')}.md`, '');
    }
    const first = await (await open()).list({ cursor: null, checkpoint: null }, signal);
    await server.remove('499.md');
    await server.remove('050.md');
    await server.put('000.a.md', '');
    const second = await (await open()).list({ cursor: first.next, checkpoint: null }, signal);
    expect(second.documents[0]!.ref).toBe('500.md');
    expect(second.documents).toHaveLength(150);
  });

  it('begins again after a failed page, also with the same cursor and in the same process', async () => {
    for (let at = 0; at < 550; at += 1) {
      await server.put(`${at}.md`, '');
    }
    const source = await open();
    const { next } = await source.list({ cursor: null, checkpoint: null }, signal);
    await server.stop();
    await expect(source.list({ cursor: next, checkpoint: null }, signal)).rejects.toMatchObject({
      code: 'source_unreachable',
    });
    await server.start();
    expect((await source.list({ cursor: next, checkpoint: null }, signal)).documents).toHaveLength(50);
    expect((await source.list({ cursor: null, checkpoint: null }, signal)).documents).toHaveLength(500);
    await expect(source.list({ cursor: 'x', checkpoint: null }, signal)).rejects.toMatchObject({
      code: 'cursor_expired',
    });
  });

  it.each(unusualNames)('lists and reads %s', async (name) => {
    await server.put(name, name);
    const source = await open();
    expect(await refsOf(source)).toEqual([name]);
    expect(await textOf(source, name)).toBe(name);
    expect(await source.exists(name, signal)).toBe(true);
  });

  it('ignores names that are not UTF-8, and paths of more than 2,000 bytes', async () => {
    await server.put('right.md', '');
    await writeFile(Buffer.concat([Buffer.from(`${server.folder}/`), Buffer.from([0x61, 0xff, 0x62])]), '');
    await server.put(`${Array(10).fill('n'.repeat(220)).join('/')}/long.md`, '');
    expect(await refsOf(await open())).toEqual(['right.md']);
  });

  it('reads no more of a file than the limit', async () => {
    await server.put('exact.md', 'x'.repeat(1_000));
    await server.put('over.md', 'x'.repeat(1_001));
    await server.put('huge.md', '');
    await truncate(join(server.folder, 'huge.md'), 4_000_000_000_000);
    const source = await open();
    const fetch = (ref: string) =>
      source.fetch({ ref, version: null, mediaType: null, maxBytes: 1_000 }, signal);
    expect(await fetch('exact.md')).toMatchObject({ kind: 'content' });
    expect(await fetch('over.md')).toEqual({ kind: 'skipped', code: 'too_large' });
    expect(await fetch('huge.md')).toEqual({ kind: 'skipped', code: 'too_large' });
  });

  it('reads small files ahead, and each other one when it is fetched', async () => {
    await server.put('a/one.md', 'one');
    await server.put('a/two.md', 'two');
    await server.put('three.md', 'three');
    await server.put('long.md', 'x'.repeat(262_145));
    await tick();
    const source = await open();
    const { documents } = await listAll(source);
    expect(await source.prepare?.([...documents.map(({ ref }) => ref), 'a', 'no.md', '../x'], signal)).toBe(
      3,
    );
    const versions = Object.fromEntries(documents.map(({ ref, version }) => [ref, version]));
    const fetch = (ref: string, version: string | null = null, limit = maxBytes) =>
      source.fetch({ ref, version, mediaType: null, maxBytes: limit }, signal);
    await Promise.all(['a/one.md', 'a/two.md', 'three.md'].map((ref) => server.remove(ref)));
    expect(await fetch('a/one.md')).toMatchObject({ kind: 'content', version: versions['a/one.md'] });
    expect(await fetch('a/one.md')).toEqual({ kind: 'gone' });
    expect(await fetch('a/two.md', versions['a/two.md'])).toEqual({ kind: 'unchanged' });
    expect(await fetch('three.md', null, 4)).toEqual({ kind: 'gone' });
    expect(await fetch('long.md')).toMatchObject({ kind: 'content', version: versions['long.md'] });
  });

  it('reads no more than eight megabytes ahead', async () => {
    for (let n = 0; n < 40; n += 1) await server.put(`${n}.md`, 'x'.repeat(262_144));
    const source = await open();
    expect(await source.prepare?.(await refsOf(source), signal)).toBe(32);
  });

  it('says what is wrong when a file is fetched, and not when it is read ahead', async () => {
    await server.put('a.md', 'a');
    const source = await open();
    await server.stop();
    expect(await source.prepare?.(['a.md', 'b.md'], signal)).toBe(0);
    await expect(textOf(source, 'a.md')).rejects.toMatchObject({ code: 'source_unreachable' });
    await server.start();
    await expect(source.prepare?.(['a.md', 'b.md'], AbortSignal.abort(new Error('left')))).rejects.toThrow(
      'left',
    );
  });

  it('stops when its caller does', async () => {
    await server.put('a.md', '');
    const source = await open();
    const stopped = AbortSignal.abort(new Error('stopped'));
    await expect(source.list({ cursor: null, checkpoint: null }, stopped)).rejects.toThrow('stopped');
  });
});

describe('the scope of a folder', () => {
  it('takes what include names and exclude does not, below its path', async () => {
    for (const name of [
      'a.md',
      'docs/a.md',
      'docs/a.txt',
      'docs/drafts/b.md',
      'docs/sub/c.md',
      '.git/config',
      'docs/.x.md',
    ]) {
      await server.put(name, name);
    }
    expect(await refsOf(await open())).toEqual([
      'a.md',
      'docs/a.md',
      'docs/a.txt',
      'docs/drafts/b.md',
      'docs/sub/c.md',
    ]);
    const source = await open({ path: 'docs', include: ['**/*.md'], exclude: ['drafts', '**/.*'] });
    expect(await refsOf(source)).toEqual(['docs/a.md', 'docs/sub/c.md']);
    // What is outside of the scope cannot be read through it.
    for (const ref of [
      'a.md',
      'docs/a.txt',
      'docs/drafts/b.md',
      'docs/.x.md',
      'docs',
      'docs/../a.md',
      '../x',
      '',
      '/etc/passwd',
    ]) {
      expect(await textOf(source, ref)).toBe('gone');
      expect(await source.exists(ref, signal)).toBe(false);
    }
  });

  it.each([{ path: 'missing' }, { path: 'file.md' }, { path: 'link' }])(
    'fails as scope_invalid for %j',
    async (scope) => {
      await server.put('file.md', '');
      await symlink('/etc', join(server.folder, 'link'));
      const checked = open(scope).then((source) => source.check(signal));
      await expect(checked).rejects.toMatchObject({ code: 'scope_invalid' });
      const listed = open(scope).then((source) => listAll(source));
      await expect(listed).rejects.toMatchObject({ code: 'scope_invalid' });
    },
  );

  it('has a root that no process has opened tried again', async () => {
    const checked = open({ root: 'other' }).then((source) => source.check(signal));
    await expect(checked).rejects.toMatchObject({ code: 'source_unreachable' });
  });

  it.each([
    { path: '../x' },
    { path: '/etc' },
    { path: 'a//b' },
    { path: 'a/' },
    { path: 'a\0b' },
    { include: Array(21).fill('*') },
    { include: [''] },
    { exclude: ['x'.repeat(201)] },
    { root: '' },
  ])('is refused with its pointer: %j', (scope) => {
    expect(() => open(scope)).toThrow(expect.objectContaining({ code: 'invalid_request' }));
  });

  it('has a scope whose unknown fields are refused', () => {
    expect(() => open({ unknown: 1 })).toThrow(expect.objectContaining({ code: 'unknown_parameter' }));
  });

  it('is unreachable while its root is not there', async () => {
    await server.put('a.md', '');
    const source = await open();
    await server.stop();
    const unreachable = { code: 'source_unreachable' };
    await expect(source.check(signal)).rejects.toMatchObject(unreachable);
    await expect(listAll(source)).rejects.toMatchObject(unreachable);
    await expect(textOf(source, 'a.md')).rejects.toMatchObject(unreachable);
    await expect(source.exists('a.md', signal)).rejects.toMatchObject(unreachable);
    await expect(source.groups!(null, signal)).rejects.toMatchObject(unreachable);
  });
});

describe('what stands beside files', () => {
  it('follows no symbolic link, and lists no special file', async () => {
    const outside = `${server.folder}-outside`;
    await mkdir(outside);
    await writeFile(join(outside, 'secret.md'), 'secret');
    await server.put('real/a.md', 'a');
    await symlink(outside, join(server.folder, 'folder-link'));
    await symlink(join(outside, 'secret.md'), join(server.folder, 'file-link.md'));
    await symlink('real', join(server.folder, 'inner-link'));
    await symlink('loop', join(server.folder, 'loop'));
    await promisify(execFile)('mkfifo', [join(server.folder, 'pipe.md')]);
    const source = await open();
    expect(await refsOf(source)).toEqual(['real/a.md']);
    const others = [
      'folder-link/secret.md',
      'file-link.md',
      'inner-link/a.md',
      'loop',
      'loop/a.md',
      'pipe.md',
    ];
    expect(await source.prepare?.(others, signal)).toBe(0);
    for (const ref of others) {
      expect(await textOf(source, ref)).toBe('gone');
      expect(await source.exists(ref, signal)).toBe(false);
    }
  });

  it(
    'reads nothing outside of its root while folders and links take turns',
    { timeout: 60_000 },
    async () => {
      const outside = `${server.folder}-outside`;
      await mkdir(outside);
      await writeFile(join(outside, 'a.md'), 'secret');
      await server.put('folder/a.md', 'inside');
      const [folder, hidden, away] = ['folder', 'link', 'away'].map((name) => join(server.folder, name));
      await symlink(outside, hidden!);
      const source = await open();
      const stop = new AbortController();
      const swaps = (async () => {
        while (!stop.signal.aborted) {
          await rename(folder!, away!);
          await rename(hidden!, folder!);
          await rename(folder!, hidden!);
          await rename(away!, folder!);
        }
      })();
      const read = new Set<string>();
      for (let round = 0; round < 2_000; round += 1) {
        if (round % 2 === 0) await source.prepare?.(['folder/a.md'], signal);
        read.add(await textOf(source, 'folder/a.md'));
      }
      stop.abort();
      await swaps;
      expect(read).toEqual(new Set(['inside', 'gone']));
    },
  );

  it.skipIf(process.getuid?.() === 0)('deletes nothing of a folder that it may not read', async () => {
    await server.put('open/a.md', '');
    await server.put('closed/b.md', '');
    await chmod(join(server.folder, 'closed'), 0o000);
    const { documents, truncated } = await listAll(await open());
    await chmod(join(server.folder, 'closed'), 0o700);
    expect(documents.map(({ ref }) => ref)).toEqual(['open/a.md']);
    expect(truncated).toBe(true);
  });

  it('deletes nothing of a folder of which it may read the names alone', async () => {
    await server.put('open/a.md', '');
    await server.put('closed/b.md', '');
    await chmod(join(server.folder, 'closed'), 0o644);
    for (const folder of [dirname(server.folder), server.folder]) await chmod(folder, 0o755);
    await asAnybody(async () => {
      const source = await open();
      const { documents, truncated } = await listAll(source);
      expect(documents.map(({ ref }) => ref)).toEqual(['open/a.md']);
      expect(truncated).toBe(true);
      expect(await source.exists('closed/b.md', signal)).toBe(true);
      expect(await source.exists('open/none.md', signal)).toBe(false);
    });
    await chmod(join(server.folder, 'closed'), 0o755);
  });

  it('says that what was missed on an earlier page was', async () => {
    await server.put('a/closed.md', '');
    for (let at = 0; at < 600; at += 1) await server.put(`b/${at}.md`, '');
    await chmod(join(server.folder, 'a'), 0o644);
    for (const folder of [dirname(server.folder), server.folder]) await chmod(folder, 0o755);
    await asAnybody(async () => {
      const first = await (await open()).list({ cursor: null, checkpoint: null }, signal);
      const second = await (await open()).list({ cursor: first.next, checkpoint: null }, signal);
      expect([second.next, second.truncated]).toEqual([null, true]);
    });
    await chmod(join(server.folder, 'a'), 0o755);
  });

  it('does not say of a document outside of a narrower scope that it exists', async () => {
    for (const name of ['docs/a.md', 'docs/b.txt', 'docs/drafts/c.md', 'e.md']) await server.put(name, '');
    for (const narrower of [{ path: 'docs' }, { include: ['**/*.txt'] }, { exclude: ['docs/drafts'] }]) {
      await expectNarrowed(filesystemProvider, server, narrower);
    }
  });

  it('lists both names of a file with two', async () => {
    await server.put('a.md', 'a');
    await link(join(server.folder, 'a.md'), join(server.folder, 'b.md'));
    expect(await refsOf(await open())).toEqual(['a.md', 'b.md']);
  });

  it('cuts folders that are nested without end', async () => {
    await server.put(`${Array(70).fill('d').join('/')}/deep.md`, '');
    await server.put('top.md', '');
    const { documents, truncated } = await listAll(await open());
    expect(documents.map(({ ref }) => ref)).toEqual(['top.md']);
    expect(truncated).toBe(true);
  });
});

describe('the manifest of readers', () => {
  const manifest = (value: unknown) =>
    server.put('.readers.json', typeof value === 'string' ? value : JSON.stringify(value));
  const readersOf = async (source: Source) =>
    Object.fromEntries((await listAll(source)).documents.map(({ ref, readers }) => [ref, readers]));

  it('gives each document the readers of its nearest entry, and nobody without one', async () => {
    for (const name of ['a.md', 'hr/b.md', 'hr/pay/c.md', 'hr/pay/d.md', 'hrx/e.md']) {
      await server.put(name, '');
    }
    await manifest({
      groups: { hr: ['Ann@Example.org'] },
      documents: {
        'a.md': 'public',
        'hr/': { groups: ['hr'] },
        'hr/pay/': { addresses: ['Bob@example.org'] },
        'hr/pay/d.md': { addresses: [], groups: ['board'] },
      },
    });
    const source = await open({ exclude: [] });
    expect(await readersOf(source)).toEqual({
      'a.md': 'public',
      'hr/b.md': { addresses: [], groups: ['hr'] },
      'hr/pay/c.md': { addresses: ['bob@example.org'], groups: [] },
      'hr/pay/d.md': { addresses: [], groups: ['board'] },
      'hrx/e.md': { addresses: [], groups: [] },
    });
    expect(await source.groups!(null, signal)).toEqual({
      groups: [{ id: 'hr', members: ['ann@example.org'] }],
      next: null,
    });
    await manifest({ documents: { '/': 'public', 'hr/': { groups: ['hr'] } } });
    expect(await readersOf(source)).toMatchObject({ 'a.md': 'public', 'hr/pay/c.md': { groups: ['hr'] } });
    expect(await textOf(source, '.readers.json')).toBe('gone');
    await server.remove('.readers.json');
    expect(await readersOf(source)).toMatchObject({ 'a.md': undefined });
    expect(await source.groups!(null, signal)).toEqual({ groups: [], next: null });
  });

  it('takes different forms of the same characters for equal, and no other letters for those from A to Z', async () => {
    const [decomposed, composed] = ['ü'.normalize('NFD'), 'ü'.normalize('NFC')];
    await server.put(`K${decomposed}che/a.md`, '');
    await server.put(`K${composed}ndigung.md`, '');
    const boss = { addresses: ['\u212Aarl@example.org'] };
    await manifest({
      documents: { '/': 'public', [`K${composed}che/`]: boss, [`K${decomposed}ndigung.md`]: boss },
    });
    const only = { addresses: ['\u212Aarl@example.org'], groups: [] };
    expect(Object.values(await readersOf(await open()))).toEqual([only, only]);
  });

  it('lists groups in pages', async () => {
    const ids = Array.from({ length: 250 }, (_, at) => `g${String(at).padStart(3, '0')}`);
    await manifest({ groups: Object.fromEntries(ids.map((id) => [id, []])), documents: {} });
    const source = await open();
    const found: string[] = [];
    let cursor: string | null = null;
    do {
      const page: Awaited<ReturnType<NonNullable<Source['groups']>>> = await source.groups!(cursor, signal);
      found.push(...page.groups.map(({ id }) => id));
      cursor = page.next;
    } while (cursor !== null);
    expect(found).toEqual(ids);
  });

  it.each([
    '{',
    '[]',
    { documents: { 'a.md': 'everybody' } },
    { documents: { 'a.md': { adresses: [] } } },
    { documents: { 'ä.md': { addresses: [] }, 'a\u0308.md': 'public' } },
    { groups: { hr: 'ann@example.org' }, documents: {} },
    ' '.repeat(1_048_577),
    Buffer.from([0xff]).toString('latin1'),
  ])('fails the run when it is malformed: case %#', async (value) => {
    await server.put('a.md', '');
    await manifest(value);
    const source = await open();
    const calls = [() => source.check(signal), () => listAll(source), () => source.groups!(null, signal)];
    for (const call of calls) {
      await expect(call()).rejects.toMatchObject({ code: 'source_invalid' });
    }
  });

  it('fails the run when it is a link or a folder', async () => {
    const path = join(server.folder, '.readers.json');
    await writeFile(`${server.folder}-manifest`, JSON.stringify({ documents: { '/': 'public' } }));
    await symlink(`${server.folder}-manifest`, path);
    await expect(listAll(await open())).rejects.toMatchObject({ code: 'source_invalid' });
    await rm(path);
    await mkdir(path);
    await expect(listAll(await open())).rejects.toMatchObject({ code: 'source_invalid' });
  });
});
