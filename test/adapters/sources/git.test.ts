import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { createGuardedConnect } from '#adapters/egress/guarded-connect.ts';
import { createGuardedFetch } from '#adapters/egress/guarded-fetch.ts';
import { gitProvider } from '#adapters/sources/git/provider.ts';
import { gitScope } from '#adapters/sources/git/scope.ts';
import type { SourceAccess } from '#adapters/sources/provider.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import type { Source } from '#domain/knowledge/connectors/source.ts';
import { startGitServer, type GitServer, type GitServerOptions } from '#test/support/sources/git-server.ts';
import { expectNarrowed } from '#test/support/sources/narrowed-scope.ts';
import { oddNames } from '#test/support/sources/odd-names.ts';
import { listAll, openSource } from '#test/support/sources/open-source.ts';

const servers: GitServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

async function serve(options: GitServerOptions = {}): Promise<GitServer> {
  const server = await startGitServer(options);
  servers.push(server);
  return server;
}

const open = (server: GitServer, scope: object = {}) =>
  openSource(gitProvider, { ...server, scopeConfig: { ...server.scopeConfig, ...scope } });
const soon = () => AbortSignal.timeout(30_000);

async function read(source: Source, ref: string, maxBytes = 1_000_000, version: string | null = null) {
  const fetched = await source.fetch({ ref, version, mediaType: null, maxBytes }, soon());
  return fetched.kind === 'content' ? Buffer.from(fetched.content).toString() : fetched;
}

const refs = (listing: { documents: { ref: string }[] }) => listing.documents.map(({ ref }) => ref);

describe.each<[string, GitServerOptions]>([
  ['that can leave out contents', {}],
  ['that cannot leave out contents', { filters: false }],
  ['with ids of SHA-256', { format: 'sha256' }],
])('a server %s', (_, options) => {
  test('lists everything first, then what changed, moved and went since the commit', async () => {
    const server = await serve(options);
    await server.put('a.md', 'first');
    await server.put('folder/b.md', 'second');
    await server.put('folder/c.md', 'third');
    const source = await open(server);
    await source.check(soon());
    const first = await listAll(source);
    expect(first).toMatchObject({ scope: 'everything', gone: [], truncated: false, pages: 1 });
    expect(refs(first)).toEqual(['a.md', 'folder/b.md', 'folder/c.md']);
    expect(await read(source, 'folder/b.md')).toBe('second');

    const unchanged = await listAll(await open(server), first.checkpoint);
    expect(unchanged).toMatchObject({ scope: 'changes', documents: [], gone: [] });
    expect(unchanged.checkpoint).toBe(first.checkpoint);

    await server.put('a.md', 'changed');
    await server.move('folder/b.md', 'moved.md');
    await server.remove('folder/c.md');
    const later = await open(server);
    const second = await listAll(later, first.checkpoint);
    expect(second.scope).toBe('changes');
    expect(refs(second)).toEqual(['a.md', 'moved.md']);
    expect(second.gone).toEqual(['folder/b.md', 'folder/c.md']);
    const [, moved] = second.documents;
    expect(moved?.version).toBe(first.documents[1]?.version);
    expect(await read(later, 'a.md')).toBe('changed');
    expect(await read(later, 'a.md', 10, second.documents[0]?.version ?? null)).toEqual({
      kind: 'unchanged',
    });
    expect(await read(later, 'folder/c.md')).toEqual({ kind: 'gone' });
    expect([await later.exists('a.md', soon()), await later.exists('folder/c.md', soon())]).toEqual([
      true,
      false,
    ]);
  });

  test('finds a branch that was emptied, and a commit that is gone', async () => {
    const server = await serve(options);
    await server.put('a.md', 'first');
    const first = await listAll(await open(server));
    await server.remove('a.md');
    const emptied = await listAll(await open(server), first.checkpoint);
    expect(emptied).toMatchObject({ scope: 'changes', documents: [], gone: ['a.md'] });
    await server.put('b.md', 'other');
    await server.git('checkout', '-q', '--orphan', 'fresh');
    await server.git('commit', '-q', '-m', 'fresh');
    await server.git('branch', '-q', '-M', 'main');
    await server.git('reflog', 'expire', '--expire=now', '--all');
    await server.git('gc', '-q', '--prune=now');
    const forced = await listAll(await open(server), emptied.checkpoint);
    expect(forced.scope).toBe('everything');
    expect(refs(forced)).toEqual(['b.md']);
  });
});

test('a listing goes on with its commit while the branch moves, also when the source is opened again', async () => {
  const server = await serve();
  for (let each = 0; each < 550; each += 1) await server.put(`f${1_000 + each}.md`, String(each));
  const source = await open(server);
  const page = await source.list({ cursor: null, checkpoint: null }, soon());
  expect([page.documents.length, page.total]).toEqual([500, 550]);
  await server.remove('f1549.md');
  await server.put('f2000.md', 'late');
  const rest = await (await open(server)).list({ cursor: page.next, checkpoint: null }, soon());
  expect(refs({ documents: [...rest.documents] }).at(-1)).toBe('f1549.md');
  const changes = await listAll(await open(server), rest.checkpoint);
  expect([refs(changes), changes.gone]).toEqual([['f2000.md'], ['f1549.md']]);
});

test('a listing whose commit goes away has to begin again', async () => {
  const server = await serve();
  for (let each = 0; each < 501; each += 1) await server.put(`f${each}.md`, String(each));
  const { next } = await (await open(server)).list({ cursor: null, checkpoint: null }, soon());
  await server.git('commit', '-q', '--amend', '-m', 'other');
  await server.git('reflog', 'expire', '--expire=now', '--all');
  await server.git('gc', '-q', '--prune=now');
  const source = await open(server);
  await expect(source.list({ cursor: next, checkpoint: null }, soon())).rejects.toMatchObject({
    code: 'cursor_expired',
  });
  await expect(source.list({ cursor: 'odd', checkpoint: null }, soon())).rejects.toMatchObject({
    code: 'cursor_expired',
  });
  expect(refs(await listAll(source))).toHaveLength(501);
});

test('a file whose listed state is gone has no content, so that another state does not count as that one', async () => {
  const server = await serve();
  await server.put('a.md', 'earlier');
  await server.put('b.md', 'same');
  const first = await listAll(await open(server));
  const earlier = (await server.git('rev-parse', 'HEAD')).trim();
  await server.put('a.md', 'later');
  const source = await open(server);
  const second = await listAll(source, first.checkpoint);
  expect(refs(second)).toEqual(['a.md']);
  // As a server behind the same address that has not got the last push.
  await server.git('reset', '-q', '--hard', earlier);
  await server.git('reflog', 'expire', '--expire=now', '--all');
  await server.git('gc', '-q', '--prune=now');
  await expect(read(source, 'a.md')).rejects.toMatchObject({ code: 'cursor_expired' });
  const forced = await listAll(await open(server), first.checkpoint);
  expect([forced.scope, refs(forced)]).toEqual(['changes', []]);
  expect(await read(await open(server), 'a.md')).toBe('earlier');
});

test('a file that the server lacks while it has the listed commit is tried again', async () => {
  const server = await serve();
  await server.put('a.md', 'text');
  const source = await open(server);
  const { documents } = await listAll(source);
  const { version } = documents[0] ?? {};
  const folder = (await server.git('rev-parse', '--absolute-git-dir')).trim();
  const object = join(folder, 'objects', (version ?? '').slice(0, 2), (version ?? '').slice(2));
  await rename(object, `${object}.away`);
  await expect(read(source, 'a.md')).rejects.toMatchObject({ code: 'source_unreachable' });
  await rename(`${object}.away`, object);
  expect(await read(source, 'a.md')).toBe('text');
});

test.each([0, 1, 500, 501])('pages of %i documents', async (count) => {
  const server = await serve();
  for (let each = 0; each < count; each += 1) await server.put(`d/${each}.md`, String(each));
  const listing = await listAll(await open(server));
  expect([new Set(refs(listing)).size, listing.pages]).toEqual([count, count > 500 ? 2 : 1]);
});

test('1,500 documents and then 1,200 changes', async () => {
  const server = await serve();
  for (let each = 0; each < 1_500; each += 1) await server.put(`d/${each % 7}/${each}.md`, String(each));
  const first = await listAll(await open(server));
  expect(new Set(refs(first)).size).toBe(1_500);
  for (let each = 0; each < 1_200; each += 1) await server.put(`d/${each % 7}/${each}.md`, `new ${each}`);
  const second = await listAll(await open(server), first.checkpoint);
  expect([new Set(refs(second)).size, second.pages, second.scope]).toEqual([1_200, 3, 'changes']);
});

test('names in ten scripts and with odd characters come back as they are', async () => {
  const server = await serve();
  for (const name of oddNames) await server.put(name, `content of ${name}`);
  const source = await open(server);
  expect(refs(await listAll(source)).toSorted()).toEqual(oddNames.toSorted());
  for (const name of oddNames) {
    expect(await read(source, name)).toBe(`content of ${name}`);
  }
});

test('a name that is no UTF-8 is written with its bytes, and its content can be read', async () => {
  const server = await serve();
  const blob = (await server.git('hash-object', '-w', '/dev/null')).trim();
  const tree = await server.treeOf(
    Buffer.concat([Buffer.from(`100644 blob ${blob}\tna`), Buffer.from([0xef, 0x76]), Buffer.from('e.md\0')]),
  );
  await server.git('reset', '-q', '--hard', (await server.git('commit-tree', '-m', 'x', tree)).trim());
  const source = await open(server);
  expect(refs(await listAll(source))).toEqual(['na\\xefve.md']);
  expect(await read(source, 'na\\xefve.md')).toBe('');
});

test('scope: folder, patterns, branch; what the repository lacks is named', async () => {
  const server = await serve();
  for (const name of ['docs/a.md', 'docs/b.txt', 'docs/drafts/c.md', 'docs/deep/d.md', 'e.md']) {
    await server.put(name, name);
  }
  await server.git('branch', 'topic/x');
  await server.put('docs/later.md', 'only on main');
  const scope = { path: '/docs/', include: ['*.md'], exclude: ['drafts/'] };
  const first = await listAll(await open(server, scope));
  expect(refs(first)).toEqual(['docs/a.md', 'docs/deep/d.md', 'docs/later.md']);
  expect(refs(await listAll(await open(server, { ...scope, branch: 'topic/x' })))).toEqual([
    'docs/a.md',
    'docs/deep/d.md',
  ]);
  // Another scope cannot go on from this checkpoint.
  const wider = await listAll(await open(server, { path: 'docs' }), first.checkpoint);
  expect([wider.scope, wider.documents.length]).toEqual(['everything', 5]);
  for (const wrong of [{ branch: 'none' }, { path: 'docs/none' }, { path: 'e.md' }]) {
    await expect((await open(server, wrong)).check(soon())).rejects.toMatchObject({ code: 'scope_invalid' });
  }
});

test('what a narrower scope leaves out does not exist for it', async () => {
  const server = await serve();
  for (const name of ['docs/a.md', 'docs/b.txt', 'docs/drafts/c.md', 'e.md']) await server.put(name, name);
  for (const narrower of [{ path: 'docs' }, { include: ['*.txt'] }, { exclude: ['docs/drafts/'] }]) {
    await expectNarrowed(gitProvider, server, narrower);
  }
});

test('symbolic links are left out, submodules and pointers to large files are skipped', async () => {
  const server = await serve();
  await server.put('a.md', 'a');
  await server.put('large.bin', 'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n');
  const head = (await server.git('rev-parse', 'HEAD')).trim();
  const link = (await server.git('hash-object', '-w', 'a.md')).trim();
  await server.git('update-index', '--add', '--cacheinfo', `160000,${head},module`);
  await server.git('update-index', '--add', '--cacheinfo', `120000,${link},link`);
  await server.git('commit', '-q', '-m', 'links');
  const source = await open(server);
  expect(refs(await listAll(source))).toEqual(['a.md', 'large.bin', 'module']);
  for (const ref of ['large.bin', 'module']) {
    expect(await read(source, ref)).toEqual({ kind: 'skipped', code: 'not_a_document' });
  }
});

test('a file beyond maxBytes is not read to its end; at the limit it is', async () => {
  const server = await serve();
  await server.put('exact.bin', Buffer.alloc(5_000, 'x'));
  const noise = Buffer.from(Array.from({ length: 9_000_000 }, () => Math.floor(Math.random() * 256)));
  await server.put('noise.bin', noise);
  const source = await open(server);
  expect(await read(source, 'exact.bin', 5_000)).toBe('x'.repeat(5_000));
  expect(await read(source, 'exact.bin', 4_999)).toEqual({ kind: 'skipped', code: 'too_large' });
  expect(await read(source, 'noise.bin', 1_000)).toEqual({ kind: 'skipped', code: 'too_large' });
  const whole = await source.fetch(
    { ref: 'noise.bin', version: null, mediaType: null, maxBytes: 9_000_000 },
    soon(),
  );
  expect(whole.kind === 'content' && noise.equals(whole.content)).toBe(true);
});

test('a refused credential, and its renewal', async () => {
  const server = await serve({ secured: true });
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
  expect(await read(await openSource(gitProvider, renewed), 'a.md')).toBe('secret');
});

test('a repository without commits is empty; one whose default branch is missing is not', async () => {
  const server = await serve();
  await server.git('update-ref', '-d', 'HEAD');
  const listing = await listAll(await open(server));
  expect(listing).toMatchObject({ documents: [], scope: 'everything', checkpoint: null });
  await server.git('commit', '-q', '--allow-empty', '-m', 'x');
  await server.git('branch', 'kept');
  await server.git('symbolic-ref', 'HEAD', 'refs/heads/none');
  await expect(listAll(await open(server))).rejects.toMatchObject({ code: 'scope_invalid' });
});

test('a source that is opened again does not fetch the trees again, another connector does', async () => {
  const server = await serve();
  await server.put('a.md', 'a');
  const scope = gitScope.parse(server.scopeConfig);
  const use = (connectorId: string) => ({
    tenantId: newId(),
    spaceId: newId(),
    principalId: newId(),
    connectorId,
    providerSlug: 'git',
    scopeConfig: scope,
    credentialId: null,
  });
  const listed = async (opened: ReturnType<typeof use>) => {
    const before = server.requests();
    await listAll(await gitProvider.open(scope, accessTo(server, opened)));
    return server.requests() - before;
  };
  const opened = use(newId());
  // Abilities, the head of the branch, the trees.
  expect(await listed(opened)).toBe(3);
  expect(await listed(opened)).toBe(2);
  expect(await listed({ ...opened, connectorId: newId() })).toBe(3);
});

function accessTo(server: GitServer, use: SourceAccess['use']): SourceAccess {
  return {
    use,
    fetch: createGuardedFetch(server.allowedOrigins),
    connect: createGuardedConnect([]),
    credential: null,
    stream: () => Promise.reject(new Error('It has none.')),
    bearer: () => Promise.reject(new Error('It has none.')),
    roots: new Map(),
  };
}
