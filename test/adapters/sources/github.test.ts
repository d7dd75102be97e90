import { afterEach, describe, expect, it } from 'vitest';
import { githubFailure } from '#adapters/sources/github/failure.ts';
import { githubProvider } from '#adapters/sources/github/provider.ts';
import { nextIn } from '#adapters/sources/github/wire.ts';
import { startGithub, type GithubServer } from '../../support/sources/github-server.ts';
import { listAll, openSource } from '../../support/sources/open-source.ts';
import { describeSource } from '../../support/sources/source-contract.ts';
import { SourceModel } from '../../support/sources/source-model.ts';
import { expectChangesWithWrongClock } from '../../support/sources/wrong-clock.ts';

describeSource('issues of GitHub', {
  provider: githubProvider,
  start: () => startGithub(),
  nameIn: (listed) => /^acme\/app#\d+ (.*)\.md$/su.exec(listed)?.[1] ?? listed,
  narrower: () => ({ kinds: ['pull_requests'] }),
  pageSize: 30,
});

const brief = () => AbortSignal.timeout(20_000);
const hourMs = 3_600_000;

describe('GitHub', () => {
  let server: GithubServer;
  afterEach(() => server?.close());
  const open = (scope: object = {}) =>
    openSource(githubProvider, { ...server, scopeConfig: { ...server.scopeConfig, ...scope } });

  it('describes issues and pull requests with their comments', async () => {
    server = await startGithub();
    server.add('Login fails', 'It says no.', {
      labels: ['bug'],
      comments: ['Me too.', 'Fixed.'],
      state: 'closed',
    });
    server.add('Add login', '', { isPull: true });
    const source = await open();
    const { documents } = await listAll(source);
    expect(documents).toMatchObject([
      { ref: 'acme/app#1', url: 'https://github.example/acme/app/issues/1', mediaType: 'text/markdown' },
      { ref: 'acme/app#2', url: 'https://github.example/acme/app/pull/2' },
    ]);
    expect(documents[0]).not.toHaveProperty('content');
    const found = await source.fetch({ ...documents[0]!, version: null, maxBytes: 100_000 }, brief());
    const text = found.kind === 'content' ? Buffer.from(found.content).toString() : '';
    expect(text).toBe(
      '# Login fails\n\nIssue #1 by octocat, 2025-01-01, closed; labels: bug\n\nIt says no.\n\n' +
        '## Comment by hubot, 2025-02-01\n\nMe too.\n\n## Comment by ghost, 2025-02-01\n\nFixed.',
    );
    expect(await source.fetch({ ...documents[0]!, maxBytes: 100_000 }, brief())).toEqual({
      kind: 'unchanged',
    });
    expect(Buffer.from(documents[1]!.content!).toString()).toContain('Pull request #2 by octocat');
  });

  it('cuts a title between characters', async () => {
    server = await startGithub();
    server.add(`x${'😀'.repeat(300)}`, 'text');
    const [listed] = (await listAll(await open())).documents;
    expect(listed!.name.isWellFormed()).toBe(true);
  });

  it('reads all comments, but none beyond the limit of a document', async () => {
    server = await startGithub();
    const made = server.add('Long', 'body', {
      comments: Array.from({ length: 95 }, (_, at) => `comment ${at}.`),
    });
    const source = await open();
    const input = { ref: 'acme/app#1', version: null, mediaType: null };
    const found = await source.fetch({ ...input, maxBytes: 100_000 }, brief());
    expect(found.kind === 'content' && Buffer.from(found.content).toString()).toContain('comment 94.');
    made.comments = Array.from({ length: 300 }, () => 'word '.repeat(100));
    server.asked.length = 0;
    expect(await source.fetch({ ...input, maxBytes: 2_000 }, brief())).toMatchObject({ code: 'too_large' });
    expect(server.asked.length).toBe(2);
  });

  const reviewed = () =>
    server.add('Add login', 'Please.', {
      isPull: true,
      comments: ['Me too.'],
      reviews: [
        { state: 'COMMENTED', body: '', submitted: '2025-01-30T08:00:00Z' },
        { state: 'CHANGES_REQUESTED', body: 'Almost.', submitted: '2025-01-31T08:00:00Z' },
        { state: 'APPROVED', body: 'Good.', submitted: '2025-02-03T08:00:00Z' },
        { state: 'PENDING', body: 'My draft.' },
      ],
      reviewComments: [
        { path: 'src/app.ts', line: 12, body: 'Why?', created: '2025-01-30T08:00:00Z' },
        { path: 'src/old.ts', line: null, body: 'Because.', created: '2025-02-02T08:00:00Z' },
      ],
    });
  const pull = { ref: 'acme/app#1', version: null, mediaType: null };

  it('describes a pull request with its reviews and their comments in the order of time', async () => {
    server = await startGithub();
    reviewed();
    const source = await open({ reviews: true });
    await source.check(brief());
    const found = await source.fetch({ ...pull, maxBytes: 100_000 }, brief());
    expect(found.kind === 'content' && Buffer.from(found.content).toString()).toBe(
      '# Add login\n\nPull request #1 by octocat, 2025-01-01, open\n\nPlease.\n\n' +
        '## Review comment by hubot, 2025-01-30, src/app.ts:12\n\nWhy?\n\n' +
        '## Review by reviewer, 2025-01-31, changes requested\n\nAlmost.\n\n' +
        '## Comment by hubot, 2025-02-01\n\nMe too.\n\n' +
        '## Review comment by hubot, 2025-02-02, src/old.ts:7\n\nBecause.\n\n' +
        '## Review by reviewer, 2025-02-03, approved\n\nGood.',
    );
    const bare = await (await open()).fetch({ ...pull, maxBytes: 100_000 }, brief());
    expect(bare.kind === 'content' && Buffer.from(bare.content).toString()).not.toMatch(/Almost|Why/);
  });

  it('has other versions of pull requests, and of nothing else, where the scope has reviews', async () => {
    server = await startGithub();
    reviewed();
    server.add('issue', 'text');
    const [one, two] = (await listAll(await open())).documents;
    const withReviews = (await listAll(await open({ reviews: true }))).documents;
    expect(withReviews[0]!.version).not.toBe(one!.version);
    expect(withReviews[1]).toEqual(two);
  });

  it('reads a pull request again when it has a new review comment', async () => {
    server = await startGithub();
    const made = reviewed();
    server.age(made, hourMs);
    const model = new SourceModel();
    const source = await open({ reviews: true, relist_hours: 24 });
    await model.sync(source);
    server.age(made, 0);
    made.reviewComments.push({ path: 'a.ts', line: 1, body: 'One more.', created: made.updated });
    expect(await model.sync(source)).toMatchObject({ scope: 'changes', documents: { length: 1 } });
    expect(model.copies.get('acme/app#1')?.text).toContain('One more.');
  });

  it('reads all review comments, but none beyond the limit of a document', async () => {
    server = await startGithub();
    const made = server.add('Long', 'body', { isPull: true });
    const comment = (at: number, body: string) =>
      made.reviewComments.push({ path: 'a.ts', line: at, body, created: '2025-02-02T08:00:00Z' });
    for (let at = 0; at < 95; at += 1) comment(at, `comment ${at}.`);
    const source = await open({ reviews: true });
    const found = await source.fetch({ ...pull, maxBytes: 100_000 }, brief());
    expect(found.kind === 'content' && Buffer.from(found.content).toString()).toContain('comment 94.');
    made.reviewComments = [];
    for (let at = 0; at < 200; at += 1) comment(at, 'word '.repeat(100));
    server.asked.length = 0;
    expect(await source.fetch({ ...pull, maxBytes: 2_000 }, brief())).toMatchObject({ code: 'too_large' });
    // The pull request, its reviews, and one page of their comments.
    expect(server.asked.length).toBe(3);
  });

  it('says with its check that reviews are not shown to the credential', async () => {
    server = await startGithub();
    const source = await open({ reviews: true });
    server.interfere((request, response) => {
      if (!request.url!.includes('/pulls/')) return false;
      response
        .writeHead(403)
        .end(JSON.stringify({ message: 'Resource not accessible by personal access token' }));
      return true;
    });
    await expect(source.check(brief())).rejects.toMatchObject({ code: 'auth_failed' });
  });

  it('lists what changed since the last listing, and everything again after the hours of the scope', async () => {
    server = await startGithub();
    const issues = Array.from({ length: 70 }, (_, at) => server.add(`n${at}`, `text ${at}`));
    for (const issue of issues) server.age(issue, hourMs);
    const model = new SourceModel();
    const source = await open({ relist_hours: 24 });
    expect(await model.sync(source)).toMatchObject({ scope: 'everything', documents: { length: 70 } });
    expect(await model.sync(source)).toMatchObject({ scope: 'changes', documents: [] });
    await server.put('n3', 'changed');
    await server.put('new', 'fresh');
    const changed = await model.sync(source);
    expect(changed.scope).toBe('changes');
    expect(changed.documents.map(({ ref }) => ref)).toEqual(['acme/app#4', 'acme/app#71']);
    await server.remove('n5');
    expect(await model.sync(source)).toMatchObject({ scope: 'changes' });
    expect(model.copies.has('acme/app#6')).toBe(true);
    model.checkpoint = model.checkpoint!.replace(/"whole":"[^"]*"/, '"whole":"2020-01-01T00:00:00.000Z"');
    expect(await model.sync(source)).toMatchObject({ scope: 'everything' });
    expect(model.copies.size).toBe(70);
  });

  it('lists changes where the clock of the service is wrong', async () => {
    server = await startGithub();
    server.age(server.add('a', 'text'), hourMs);
    await expectChangesWithWrongClock(server, await open({ relist_hours: 24 }));
  });

  it('lists changes by the clock of the service also behind a list that has not changed', async () => {
    server = await startGithub();
    const repositories = ['acme/app', 'acme/other'];
    server.age(server.add('quiet', 'text'), 2 * hourMs);
    const busy = server.add('busy', 'text', { repository: 'acme/other' });
    server.age(busy, 2 * hourMs);
    const model = new SourceModel();
    const source = await open({ relist_hours: 24, repositories });
    const hourAgo = () => new Date(Date.now() - hourMs).toUTCString();
    server.interfere((_request, response) => void response.setHeader('date', hourAgo()));
    for (let runs = 0; runs < 2; runs += 1) await model.sync(source);
    await server.put('busy', 'other');
    server.age(busy, hourMs);
    expect((await model.sync(source)).documents).toHaveLength(1);
    expect(server.asked.slice(-2).map(([, status]) => status)).toEqual([304, 200]);
    await server.put('busy', 'later');
    server.age(busy, hourMs / 2);
    expect((await model.sync(source)).documents).toHaveLength(1);
  });

  it('asks with a tag where nothing has changed, which costs nothing of the limit', async () => {
    server = await startGithub();
    server.age(server.add('a', 'text'), hourMs);
    const model = new SourceModel();
    const source = await open({ relist_hours: 24 });
    for (let runs = 0; runs < 4; runs += 1) await model.sync(source);
    expect(server.asked.map(([, status]) => status)).toEqual([200, 200, 304, 304]);
    await server.put('a', 'other');
    expect((await model.sync(source)).documents).toHaveLength(1);
  });

  it('lists everything where the checkpoint is of other repositories or of another version', async () => {
    server = await startGithub();
    server.add('a', 'text');
    server.add('b', 'text', { repository: 'acme/other' });
    const { checkpoint } = await listAll(await open({ relist_hours: 24 }));
    const both = await open({ relist_hours: 24, repositories: ['acme/app', 'acme/other'] });
    expect(await listAll(both, checkpoint)).toMatchObject({ scope: 'everything', documents: { length: 2 } });
    expect(await listAll(both, 'of another version')).toMatchObject({ scope: 'everything' });
    await expect(both.list({ cursor: 'other', checkpoint: null }, brief())).rejects.toMatchObject({
      code: 'cursor_expired',
    });
  });

  it('reads the kinds of the scope', async () => {
    server = await startGithub();
    server.add('issue', 'x');
    server.add('pull', 'x', { isPull: true });
    const source = await open({ kinds: ['pull_requests'] });
    expect((await listAll(source)).documents.map(({ ref }) => ref)).toEqual(['acme/app#2']);
    expect(await source.exists('acme/app#1', brief())).toBe(false);
    expect(await source.exists('acme/elsewhere#1', brief())).toBe(false);
  });

  it('goes on from checkpoints and versions that had no reviews and no discussions', async () => {
    server = await startGithub();
    server.add('a', 'text', { comments: ['Me too.'], updated: '2025-03-01T00:00:00Z' });
    server.add('b', 'text', { isPull: true, updated: '2025-03-01T00:00:00Z' });
    const source = await open({ relist_hours: 24 });
    const { documents } = await listAll(source);
    expect(documents.map(({ version }) => version)).toEqual([
      '2025-03-01T00:00:00Z/9df3adbca22ba171',
      '2025-03-01T00:00:00Z/136f1dae529d0581',
    ]);
    const since = { since: '2025-02-01T00:00:00Z', etag: null };
    const before = JSON.stringify({ whole: new Date().toISOString(), of: [['acme/app', since]] });
    expect(await listAll(source, before)).toMatchObject({ scope: 'changes', documents: { length: 2 } });
  });

  it('has other versions where the scope leaves out comments', async () => {
    server = await startGithub();
    server.add('a', 'text', { comments: ['Me too.'] });
    const [listed] = (await listAll(await open())).documents;
    const [bare] = (await listAll(await open({ comments: false }))).documents;
    expect(bare!.version).not.toBe(listed!.version);
    expect(Buffer.from(bare!.content!).toString()).not.toContain('Me too.');
  });

  it('waits until a spent limit is renewed', async () => {
    server = await startGithub();
    server.budget(1, 120);
    const source = await open();
    await source.check(brief());
    const failure = await source.check(brief()).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'rate_limited' });
    expect((failure as { retryAfterMs: number }).retryAfterMs).toBeGreaterThan(100_000);
    expect((failure as { retryAfterMs: number }).retryAfterMs).toBeLessThanOrEqual(121_000);
  });

  it('says that a repository does not exist', async () => {
    server = await startGithub();
    await expect((await open({ repositories: ['acme/none'] })).check(brief())).rejects.toMatchObject({
      code: 'scope_invalid',
    });
  });

  it('ends at its limit of documents as truncated and without a checkpoint', async () => {
    server = await startGithub();
    for (let at = 0; at < 40; at += 1) server.add(`n${at}`, 'x');
    expect(await listAll(await open({ max_documents: 35 }))).toMatchObject({
      documents: { length: 35 },
      truncated: true,
      checkpoint: null,
    });
    expect(await listAll(await open({ max_documents: 40 }))).toMatchObject({ truncated: false });
  });

  it.each(['acme', 'acme/..', '../acme', 'acme/app/issues', 'acme/a?b', 'a b/c'])(
    'refuses the repository %s',
    async (name) => {
      server = await startGithub();
      await expect(async () => open({ repositories: [name] })).rejects.toMatchObject({
        code: 'invalid_request',
      });
    },
  );
});

describe('refusals of GitHub', () => {
  const refusal = (status: number, headers: Record<string, string>, message = '') =>
    githubFailure(new Response(null, { status, headers }), { message });
  const soon = String(Math.ceil(Date.now() / 1_000) + 30);

  it.each([
    ['secondary limit with a time', 403, { 'retry-after': '60' }, '', 60_000],
    ['secondary limit without a time', 403, {}, 'You have exceeded a secondary rate limit.', 60_000],
    ['429 without a time', 429, {}, '', 60_000],
    ['a spent limit without a time', 403, { 'x-ratelimit-remaining': '0' }, '', 60_000],
    ['a time far away', 429, { 'retry-after': '999999' }, '', 3_600_000],
  ])('%s', (_, status, headers, message, ms) => {
    expect(refusal(status, headers, message)).toMatchObject({ code: 'rate_limited', retryAfterMs: ms });
  });

  it('leaves a missing permission what it is', () => {
    expect(
      refusal(403, { 'x-ratelimit-remaining': '17' }, 'Resource not accessible by personal access token'),
    ).toBeNull();
    expect(
      refusal(403, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': soon })?.retryAfterMs,
    ).toBeLessThan(32_000);
    expect(githubFailure(new Response(null, { status: 403 }), undefined)).toBeNull();
  });

  it('reads the fields of the next page only', () => {
    expect(
      nextIn('<https://x.example/a?page=3&state=all>; rel="next", <https://x.example/b?page=9>; rel="last"'),
    ).toBe('page=3');
    expect(nextIn('<https://x.example/a?after=Y3Vy%3D&per_page=1>; rel="next"')).toBe('after=Y3Vy%3D');
    expect(nextIn('<https://x.example/a?page=9>; rel="last"')).toBeNull();
    expect(nextIn(`<${'x'.repeat(100_000)}`)).toBeNull();
  });
});
