import { afterEach, describe, expect, it } from 'vitest';
import { gitlabFailure } from '#adapters/sources/gitlab/failure.ts';
import { gitlabProvider } from '#adapters/sources/gitlab/provider.ts';
import { nextIn } from '#adapters/sources/gitlab/wire.ts';
import { startGitlab, type GitlabServer } from '../../support/sources/gitlab-server.ts';
import { listAll, openSource } from '../../support/sources/open-source.ts';
import { describeSource } from '../../support/sources/source-contract.ts';
import { SourceModel } from '../../support/sources/source-model.ts';
import { expectChangesWithWrongClock } from '../../support/sources/wrong-clock.ts';

const nameBy = (pattern: RegExp) => (listed: string) => pattern.exec(listed)?.[1] ?? listed;
describeSource('issues of GitLab', {
  provider: gitlabProvider,
  start: () => startGitlab('issues'),
  nameIn: nameBy(/^acme\/app#\d+ (.*)\.md$/su),
  narrower: () => ({ kinds: ['merge_requests'] }),
  pageSize: 50,
});
describeSource('merge requests of GitLab', {
  provider: gitlabProvider,
  start: () => startGitlab('merge_requests'),
  nameIn: nameBy(/^acme\/app!\d+ (.*)\.md$/su),
  narrower: () => ({ kinds: ['wiki_pages'] }),
  pageSize: 50,
});
describeSource('wiki pages of GitLab', {
  provider: gitlabProvider,
  start: () => startGitlab('wiki_pages'),
  nameIn: nameBy(/^acme\/app\/wiki\/(.*)\.md$/su),
  narrower: () => ({ kinds: ['issues'] }),
  pageSize: 100,
});

const brief = () => AbortSignal.timeout(20_000);
const hourMs = 3_600_000;
const everyKind = { kinds: ['issues', 'merge_requests', 'wiki_pages'] };
const firstTime = { version: null, mediaType: null, maxBytes: 100_000 };

describe('GitLab', () => {
  let server: GitlabServer;
  afterEach(() => server?.close());
  const open = (scope: object = {}, credential: GitlabServer['credential'] = server.credential) =>
    openSource(gitlabProvider, { ...server, credential, scopeConfig: { ...server.scopeConfig, ...scope } });
  const inHeader = (name: string, value: string) =>
    ({ origin: server.origin, value: { kind: 'header', name, value } }) as const;
  const textOf = async (ref: string, scope: object = {}) => {
    const found = await (await open(scope)).fetch({ ref, ...firstTime }, brief());
    return found.kind === 'content' ? Buffer.from(found.content).toString() : found.kind;
  };

  it('cuts a title between characters', async () => {
    server = await startGitlab();
    server.add(`x${'😀'.repeat(300)}`, 'text');
    const [listed] = (await listAll(await open())).documents;
    expect(listed!.name.isWellFormed()).toBe(true);
  });

  it('describes issues and merge requests with the notes of people, and the pages of the wiki', async () => {
    server = await startGitlab();
    server.add('Login fails', 'It says no.', {
      labels: ['bug', 'login'],
      state: 'closed',
      notes: [
        { body: 'Me too.' },
        { body: 'closed', system: true },
        { body: 'The customer is Example Ltd.', internal: true },
        { body: 'Fixed.', author: null },
      ],
    });
    server.add('Add login', '', { kind: 'merge_requests' });
    server.wiki.push(
      { slug: 'guide/Set-up', title: 'Set up', format: 'markdown', content: 'Turn it on.' },
      { slug: 'manual', title: 'Manual', format: 'asciidoc', content: '== Use' },
    );
    const { documents } = await listAll(await open(everyKind));
    expect(documents).toMatchObject([
      {
        ref: 'issues/1',
        name: 'acme/app#1 Login fails.md',
        url: 'https://gitlab.example/acme/app/-/issues/1',
      },
      { ref: 'merge_requests/1', name: 'acme/app!1 Add login.md' },
      {
        ref: 'wiki_pages/guide/Set-up',
        name: 'acme/app/wiki/guide/Set-up.md',
        version: null,
        url: `${server.origin}/acme/app/-/wikis/guide/Set-up`,
      },
      { ref: 'wiki_pages/manual', name: 'acme/app/wiki/manual.txt', mediaType: 'text/plain' },
    ]);
    expect(documents[0]).not.toHaveProperty('content');
    expect(await textOf('issues/1')).toBe(
      '# Login fails\n\nIssue #1 by Ada Example, 2025-01-01, closed; labels: bug, login\n\nIt says no.\n\n' +
        '## Note by Ben Example, 2025-02-01\n\nMe too.\n\n## Note by Ghost User, 2025-02-01\n\nFixed.',
    );
    expect(Buffer.from(documents[1]!.content!).toString()).toContain('Merge request !1 by Ada Example');
    expect(await textOf('wiki_pages/guide/Set-up', everyKind)).toBe('# Set up\n\nTurn it on.');
    expect(await textOf('wiki_pages/manual', everyKind)).toBe('Manual\n\n== Use');
  });

  it('fetches what has not changed without its content', async () => {
    server = await startGitlab();
    server.add('a', 'text', { notes: [{ body: 'said' }] });
    server.wiki.push({ slug: 'home', title: 'Home', format: 'markdown', content: 'Welcome.' });
    const source = await open(everyKind);
    for (const ref of ['issues/1', 'wiki_pages/home']) {
      const first = await source.fetch({ ref, ...firstTime }, brief());
      const version = first.kind === 'content' ? first.version : null;
      expect(version).not.toBeNull();
      expect(await source.fetch({ ref, ...firstTime, version }, brief())).toEqual({ kind: 'unchanged' });
    }
  });

  it('notices that a note was removed', async () => {
    server = await startGitlab();
    const item = server.add('a', 'text', { notes: [{ body: 'first' }, { body: 'second' }] });
    const model = new SourceModel();
    await model.sync(await open());
    item.notes.pop();
    await model.sync(await open());
    expect(model.contents()).toEqual([[expect.any(String), expect.not.stringContaining('second')]]);
  });

  it('reads all notes, but none beyond the limit of a document', async () => {
    server = await startGitlab();
    const made = server.add('Long', 'body', {
      kind: 'merge_requests',
      notes: Array.from({ length: 120 }, (_, at) => ({ body: `note ${at}.` })),
    });
    const source = await open(everyKind);
    const found = await source.fetch({ ref: 'merge_requests/1', ...firstTime }, brief());
    expect(found.kind === 'content' && Buffer.from(found.content).toString()).toContain('note 119.');
    made.notes = Array.from({ length: 500 }, () => ({ body: 'word '.repeat(100) }));
    server.asked.length = 0;
    const short = { ref: 'merge_requests/1', ...firstTime, maxBytes: 2_000 };
    expect(await source.fetch(short, brief())).toMatchObject({ code: 'too_large' });
    expect(server.asked.length).toBe(2);
  });

  it('reads no notes without a credential, and all again when there is one', async () => {
    server = await startGitlab();
    server.add('Public', 'body', { notes: [{ body: 'said' }] });
    const model = new SourceModel();
    await model.sync(await open({ relist_hours: 24 }, null));
    expect(model.contents()[0]![1]).not.toContain('said');
    expect(await model.sync(await open({ relist_hours: 24 }))).toMatchObject({ scope: 'everything' });
    expect(model.contents()[0]![1]).toContain('said');
  });

  it('takes a token as PRIVATE-TOKEN', async () => {
    server = await startGitlab();
    server.add('a', 'text');
    const source = await open({}, inHeader('PRIVATE-TOKEN', 'first-token'));
    expect((await listAll(source)).documents).toHaveLength(1);
    const refused = await open({}, inHeader('PRIVATE-TOKEN', 'other'));
    await expect(refused.check(brief())).rejects.toMatchObject({ code: 'auth_failed' });
  });

  it('refuses a credential in a header that GitLab does not know, also for a public project', async () => {
    server = await startGitlab();
    const mistyped = await open({}, inHeader('PRIVATE-TOKENS', 'first-token'));
    await expect(mistyped.check(brief())).rejects.toMatchObject({ code: 'auth_failed' });
    await (await open({}, null)).check(brief());
  });

  it('accepts a token that may not read its own user', async () => {
    server = await startGitlab();
    server.isFineGrained = true;
    await (await open()).check(brief());
  });

  it('leaves confidential issues out, also those that become so, unless the scope names them', async () => {
    server = await startGitlab();
    const [a, b] = [server.add('a', 'text'), server.add('b', 'text', { confidential: true })];
    server.age(a, hourMs);
    server.age(b, hourMs);
    const model = new SourceModel();
    const source = await open({ relist_hours: 24 });
    await model.sync(source);
    expect([...model.copies.keys()]).toEqual(['issues/1']);
    expect(await source.exists('issues/2', brief())).toBe(false);
    expect(await textOf('issues/2')).toBe('gone');
    Object.assign(a, { confidential: true, updated: new Date().toISOString() });
    expect(await model.sync(source)).toMatchObject({ scope: 'changes', gone: ['issues/1'] });
    expect(model.copies.size).toBe(0);
    a.notes.push({ body: 'among us', internal: true });
    await model.sync(await open({ relist_hours: 24, confidential: true }));
    expect([...model.copies.keys()]).toEqual(['issues/1', 'issues/2']);
    expect(model.copies.get('issues/1')!.text).toContain('among us');
  });

  it('lists what changed since the last listing, and everything again after the hours of the scope', async () => {
    server = await startGitlab();
    for (const kind of ['issues', 'merge_requests'] as const)
      for (let at = 0; at < 70; at += 1)
        server.age(server.add(`${kind} ${at}`, `text ${at}`, { kind }), hourMs);
    const scope = { kinds: ['issues', 'merge_requests'], relist_hours: 24 };
    const model = new SourceModel();
    const source = await open(scope);
    expect(await model.sync(source)).toMatchObject({ scope: 'everything', documents: { length: 140 } });
    expect(await model.sync(source)).toMatchObject({ scope: 'changes', documents: [] });
    const [third] = server.items.filter(({ title }) => title === 'merge_requests 3');
    Object.assign(third!, { description: 'changed', updated: new Date().toISOString() });
    server.add('fresh', 'text');
    const changed = await model.sync(source);
    expect(changed.scope).toBe('changes');
    expect(changed.documents.map(({ ref }) => ref)).toEqual(['issues/71', 'merge_requests/4']);
    server.items.find(({ title }) => title === 'issues 5')!.isDeleted = true;
    expect(await model.sync(source)).toMatchObject({ scope: 'changes' });
    expect(model.copies.has('issues/6')).toBe(true);
    model.checkpoint = model.checkpoint!.replace(/"whole":"[^"]*"/, '"whole":"2020-01-01T00:00:00.000Z"');
    expect(await model.sync(source)).toMatchObject({ scope: 'everything' });
    expect(model.copies.size).toBe(140);
  });

  it('lists changes where the clock of the service is wrong', async () => {
    server = await startGitlab();
    server.age(server.add('a', 'text'), hourMs);
    await expectChangesWithWrongClock(server, await open({ relist_hours: 24 }));
  });

  it('reads the wiki whole in each run, and keeps its deleted pages until a complete listing', async () => {
    server = await startGitlab('wiki_pages');
    for (let at = 0; at < 3; at += 1) await server.put(`page ${at}`, `text ${at}`);
    const model = new SourceModel();
    const source = await open({ relist_hours: 24 });
    await model.sync(source);
    await server.put('page 1', 'other');
    await server.remove('page 2');
    expect(await model.sync(source)).toMatchObject({ scope: 'changes', documents: { length: 2 } });
    expect(model.copies.get('wiki_pages/page 1')!.text).toContain('other');
    expect(model.copies.size).toBe(3);
    await model.sync(await open({ relist_hours: 0 }));
    expect(model.copies.size).toBe(2);
  });

  it('misses no issue while others are deleted, by keyset paging', async () => {
    server = await startGitlab();
    for (let at = 0; at < 120; at += 1) server.add(`n${at}`, 'text');
    server.before = (path) => {
      if (path.includes('cursor=')) server.items[0]!.isDeleted = true;
    };
    const { documents } = await listAll(await open());
    expect(documents).toHaveLength(120);
    expect(server.asked.every(([path]) => path.includes('pagination=keyset'))).toBe(true);
  });

  it.each([
    ['without keyset paging', { hasKeyset: false }],
    ['with X-Next-Page alone', { hasKeyset: false, hidesLinks: true }],
  ])('lists all issues of a server %s', async (_, how) => {
    server = await startGitlab();
    Object.assign(server, how);
    for (let at = 0; at < 120; at += 1) server.add(`n${at}`, 'text');
    const { documents } = await listAll(await open());
    expect(new Set(documents.map(({ ref }) => ref)).size).toBe(120);
    expect(server.asked.map(([, status]) => status)).toEqual([405, 200, 200, 200]);
  });

  it('begins again where a page within a listing is refused', async () => {
    server = await startGitlab();
    for (let at = 0; at < 60; at += 1) server.add(`n${at}`, 'text');
    const source = await open();
    const { next } = await source.list({ cursor: null, checkpoint: null }, brief());
    server.hasKeyset = false;
    const refused = source.list({ cursor: next, checkpoint: null }, brief());
    await expect(refused).rejects.toMatchObject({ code: 'cursor_expired' });
    for (const cursor of [
      'other',
      '["{}",0,0]',
      '["{\\"began\\":\\"\\",\\"kind\\":9,\\"paging\\":null,\\"before\\":null}",0,0]',
    ])
      await expect(source.list({ cursor, checkpoint: null }, brief())).rejects.toMatchObject({
        code: 'cursor_expired',
      });
    expect(await listAll(await open(), 'of another version')).toMatchObject({ scope: 'everything' });
  });

  it('says that a project or a kind is not shown', async () => {
    server = await startGitlab();
    await expect((await open({ project: 'acme/none' })).check(brief())).rejects.toMatchObject({
      code: 'scope_invalid',
    });
    const source = await open(everyKind);
    await source.check(brief());
    server.off.add('wikis');
    await expect(source.check(brief())).rejects.toMatchObject({
      code: 'scope_invalid',
      message: expect.stringContaining('wiki_pages') as string,
    });
  });

  it('follows a project to its other path, and takes its number', async () => {
    server = await startGitlab();
    server.add('a', 'text');
    for (const project of ['old/app', '7'])
      expect((await listAll(await open({ project }))).documents).toMatchObject([{ ref: 'issues/1' }]);
  });

  it('reads the kinds of the scope, and no reference of another form', async () => {
    server = await startGitlab();
    server.add('a', 'text');
    server.add('b', 'text', { kind: 'merge_requests' });
    const source = await open({ kinds: ['merge_requests', 'wiki_pages'] });
    expect((await listAll(source)).documents.map(({ ref }) => ref)).toEqual(['merge_requests/1']);
    server.asked.length = 0;
    for (const ref of ['issues/1', 'merge_requests/1/notes', 'wiki_pages/..', 'wiki_pages/\ud800', 'x', ''])
      expect(await source.exists(ref, brief())).toBe(false);
    expect(server.asked).toEqual([]);
  });

  it('lists no page of the wiki for which no address can be made', async () => {
    server = await startGitlab('wiki_pages');
    for (const name of ['..', '\ud800', 'well']) await server.put(name, 'text');
    expect((await listAll(await open())).documents.map(({ ref }) => ref)).toEqual(['wiki_pages/well']);
  });

  it('says of a page of the wiki that is too large that it exists', async () => {
    server = await startGitlab('wiki_pages');
    await server.put('large', 'many words '.repeat(50_000));
    expect(await (await open()).exists('wiki_pages/large', brief())).toBe(true);
  });

  it('ends at its limit of documents as truncated and without a checkpoint', async () => {
    server = await startGitlab();
    for (let at = 0; at < 60; at += 1) server.add(`n${at}`, 'x');
    const cut = { documents: { length: 55 }, truncated: true, checkpoint: null };
    expect(await listAll(await open({ max_documents: 55 }))).toMatchObject(cut);
    expect(await listAll(await open({ max_documents: 60 }))).toMatchObject({ truncated: false });
  });

  it.each(['acme', 'acme/..', '../acme', 'acme/./app', '/acme/app', 'acme/a?b', 'a b/c', '0', 'acme/app/'])(
    'refuses the project %s',
    async (project) => {
      server = await startGitlab();
      await expect(async () => open({ project })).rejects.toMatchObject({ code: 'invalid_request' });
    },
  );

  it('takes the path of a project in groups of groups', async () => {
    server = await startGitlab();
    await expect(open({ project: 'acme/team.one/sub_2/app-3' })).resolves.toBeDefined();
  });
});

describe('refusals and paging of GitLab', () => {
  const refusal = (status: number, headers: Record<string, string>) =>
    gitlabFailure(new Response(null, { status, headers }));

  it.each([
    ['seconds', { 'retry-after': '42' }, 42_000],
    ['a time far away', { 'retry-after': '999999' }, 3_600_000],
    ['a past reset', { 'ratelimit-reset': '1' }, 1_000],
    ['no time', {}, null],
  ])('waits after 429 with %s', (_, headers, ms) => {
    expect(refusal(429, headers as Record<string, string>)).toMatchObject({
      code: 'rate_limited',
      retryAfterMs: ms,
    });
  });

  it('waits until a limit is reset that has no Retry-After', () => {
    const reset = String(Math.ceil(Date.now() / 1_000) + 30);
    const { retryAfterMs } = refusal(429, { 'ratelimit-reset': reset })!;
    expect(retryAfterMs).toBeGreaterThan(28_000);
    expect(retryAfterMs).toBeLessThanOrEqual(31_000);
    expect(refusal(403, { 'ratelimit-reset': reset })).toBeNull();
  });

  it('reads the paging fields of the next page only', () => {
    const next = (headers: Record<string, string>) => nextIn(new Headers(headers));
    const link =
      '<https://x.example/a?page=1>; rel="first", <https://x.example/a?page=3&private_token=x&state=all>; rel="next"';
    expect(next({ link, 'x-next-page': '9' })).toBe('page=3');
    expect(next({ link: '<https://x.example/a?cursor=e%3D&pagination=keyset>; rel="next"' })).toBe(
      'pagination=keyset&cursor=e%3D',
    );
    expect(next({ link: '<https://x.example/a?page=9>; rel="last"' })).toBeNull();
    expect(next({ 'x-next-page': '4' })).toBe('page=4');
    expect(next({ 'x-next-page': '' })).toBeNull();
    expect(next({ link: `<${'x'.repeat(100_000)}` })).toBeNull();
  });
});
