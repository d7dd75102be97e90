import { afterEach, describe, expect, it } from 'vitest';
import { graphqlBase } from '#adapters/sources/github/graphql-api.ts';
import { graphqlFailure } from '#adapters/sources/github/graphql-failure.ts';
import { githubProvider } from '#adapters/sources/github/provider.ts';
import { startGithub, type GithubServer } from '../../support/sources/github-server.ts';
import { listAll, openSource } from '../../support/sources/open-source.ts';
import { describeSource } from '../../support/sources/source-contract.ts';
import { SourceModel } from '../../support/sources/source-model.ts';
import { expectChangesWithWrongClock } from '../../support/sources/wrong-clock.ts';

const startDiscussions = () => startGithub('discussions');

describeSource('discussions of GitHub', {
  provider: githubProvider,
  start: startDiscussions,
  nameIn: (listed) => /^acme\/app#\d+ (.*)\.md$/su.exec(listed)?.[1] ?? listed,
  narrower: () => ({ kinds: ['issues'] }),
  pageSize: 30,
});

const brief = () => AbortSignal.timeout(20_000);
const hourMs = 3_600_000;
const first = { ref: 'acme/app/discussions/1', version: null, mediaType: null, maxBytes: 100_000 };

describe('discussions of GitHub', () => {
  let server: GithubServer;
  afterEach(() => server?.close());
  const open = (scope: object = {}) =>
    openSource(githubProvider, { ...server, scopeConfig: { ...server.scopeConfig, ...scope } });
  const answerNext = (body: object, headers: Record<string, string> = {}) => {
    server.interfere((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
      return true;
    });
  };
  const textOf = async (scope: object = {}, input = first) => {
    const found = await (await open(scope)).fetch(input, brief());
    return found.kind === 'content' ? Buffer.from(found.content).toString() : found.kind;
  };

  it('describes a discussion with comments, replies and the answer', async () => {
    server = await startDiscussions();
    server.discuss('How do I sign in?', 'It says no.', {
      labels: ['login', 'help'],
      closed: true,
      comments: [
        { body: 'Me too.', replies: [{ body: 'And me.' }, { body: 'Gone person.', author: null }] },
        { body: 'With the key.', isAnswer: true },
      ],
    });
    server.discuss('Quiet', 'Nobody answers.');
    const source = await open();
    const { documents } = await listAll(source);
    expect(documents).toMatchObject([
      {
        ref: 'acme/app/discussions/1',
        name: 'acme/app#1 How do I sign in?.md',
        url: 'https://github.example/acme/app/discussions/1',
        mediaType: 'text/markdown',
      },
      { ref: 'acme/app/discussions/2' },
    ]);
    expect(documents[0]).not.toHaveProperty('content');
    expect(Buffer.from(documents[1]!.content!).toString()).toBe(
      '# Quiet\n\nDiscussion #2 by octocat, 2025-01-01, open; category: Q&A\n\nNobody answers.',
    );
    expect(await textOf()).toBe(
      '# How do I sign in?\n\n' +
        'Discussion #1 by octocat, 2025-01-01, closed, answered; category: Q&A; labels: login, help\n\n' +
        'It says no.\n\n## Comment by hubot, 2025-02-01\n\nMe too.\n\n' +
        '### Reply by hubot, 2025-02-01\n\nAnd me.\n\n### Reply by ghost, 2025-02-01\n\nGone person.\n\n' +
        '## Comment by hubot, 2025-02-01, the answer\n\nWith the key.',
    );
    expect(await source.fetch({ ...documents[0]!, maxBytes: 100_000 }, brief())).toEqual({
      kind: 'unchanged',
    });
  });

  it('reads all comments and replies, in the order of the pages', async () => {
    server = await startDiscussions();
    server.discuss('Long', 'body', {
      comments: Array.from({ length: 45 }, (_, at) => ({
        body: `comment ${at}.`,
        replies: Array.from({ length: at === 21 ? 130 : 1 }, (__, of) => ({ body: `reply ${at}-${of}.` })),
      })),
    });
    const said = [...(await textOf()).matchAll(/^(?:comment|reply) .*$/gm)].map(([line]) => line);
    expect(said).toHaveLength(45 + 44 + 130);
    expect(said.slice(43, 46)).toEqual(['reply 21-0.', 'reply 21-1.', 'reply 21-2.']);
    expect(said.slice(172, 174)).toEqual(['reply 21-129.', 'comment 22.']);
    expect(said.at(-1)).toBe('reply 44-0.');
  });

  it('reads nothing beyond the limit of a document, and not for ever', async () => {
    server = await startDiscussions();
    const replies = Array.from({ length: 600 }, () => ({ body: 'word '.repeat(100) }));
    const made = server.discuss('Long', 'body', { comments: [{ body: 'First.', replies }] });
    server.asked.length = 0;
    expect(await textOf({}, { ...first, maxBytes: 2_000 })).toBe('skipped');
    expect(server.asked.length).toBe(2);
    made.comments = Array.from({ length: 5_000 }, () => ({ body: '' }));
    server.asked.length = 0;
    expect((await textOf()).length).toBeGreaterThan(50_000);
    expect(server.asked.length).toBe(101);
  });

  it('leaves out comments where the scope does, with another version', async () => {
    server = await startDiscussions();
    server.discuss('a', 'text', { comments: [{ body: 'Me too.' }] });
    const [listed] = (await listAll(await open())).documents;
    const [bare] = (await listAll(await open({ comments: false }))).documents;
    expect(bare!.version).not.toBe(listed!.version);
    expect(Buffer.from(bare!.content!).toString()).not.toContain('Me too.');
    expect(await textOf({ comments: false })).not.toContain('Me too.');
  });

  it('lists what changed since the last listing, and everything again after the hours of the scope', async () => {
    server = await startDiscussions();
    const made = Array.from({ length: 70 }, (_, at) => server.discuss(`n${at}`, `text ${at}`));
    for (const each of made) server.age(each, hourMs);
    const model = new SourceModel();
    const source = await open({ relist_hours: 24 });
    expect(await model.sync(source)).toMatchObject({ scope: 'everything', documents: { length: 70 } });
    expect(await model.sync(source)).toMatchObject({ scope: 'changes', documents: [], pages: 1 });
    await server.put('n3', 'changed');
    made[4]!.comments.push({ body: 'A new comment.' });
    server.age(made[4]!, 0);
    await server.put('new', 'fresh');
    const changed = await model.sync(source);
    expect(changed.scope).toBe('changes');
    expect(changed.documents.map(({ name }) => name.slice(9)).sort()).toEqual([
      '4 n3.md',
      '5 n4.md',
      '71 new.md',
    ]);
    expect(model.copies.get('acme/app/discussions/5')?.text).toContain('A new comment.');
    await server.remove('n5');
    expect(await model.sync(source)).toMatchObject({ scope: 'changes' });
    expect(model.copies.has('acme/app/discussions/6')).toBe(true);
    model.checkpoint = model.checkpoint!.replace(/"whole":"[^"]*"/, '"whole":"2020-01-01T00:00:00.000Z"');
    expect(await model.sync(source)).toMatchObject({ scope: 'everything' });
    expect(model.copies.size).toBe(70);
  });

  it('lists more changes than a page holds', async () => {
    server = await startDiscussions();
    const made = Array.from({ length: 100 }, (_, at) => server.discuss(`n${at}`, `text ${at}`));
    for (const each of made) server.age(each, hourMs);
    const source = await open({ relist_hours: 24 });
    const { checkpoint } = await listAll(source);
    for (const each of made.slice(0, 65)) server.age(each, 0);
    expect(await listAll(source, checkpoint)).toMatchObject({ documents: { length: 65 }, pages: 3 });
  });

  it('lists what is changed while everything is listed', async () => {
    server = await startDiscussions();
    const made = Array.from({ length: 65 }, (_, at) => server.discuss(`n${at}`, `text ${at}`));
    for (const each of made) server.age(each, hourMs);
    const source = await open();
    const page = await source.list({ cursor: null, checkpoint: null }, brief());
    for (const each of made.slice(30)) server.age(each, 0);
    const later = await source.list({ cursor: page.next, checkpoint: null }, brief());
    expect(later.documents.map(({ ref }) => ref)).toEqual(
      made.slice(30, 60).map(({ number }) => `acme/app/discussions/${number}`),
    );
  });

  it('lists changes where the clock of the service is wrong', async () => {
    server = await startDiscussions();
    server.age(server.discuss('a', 'text'), hourMs);
    await expectChangesWithWrongClock(server, await open({ relist_hours: 24 }));
  });

  it('reads issues and discussions of several repositories in one listing, and lists their changes', async () => {
    server = await startDiscussions();
    for (const repository of ['acme/app', 'acme/other']) {
      server.age(server.add('issue', 'x', { repository }), hourMs);
      server.age(server.discuss('discussion', 'x', { repository }), hourMs);
    }
    const scope = {
      repositories: ['acme/app', 'acme/other'],
      kinds: ['issues', 'discussions'],
      relist_hours: 24,
    };
    const source = await open(scope);
    const { documents, checkpoint } = await listAll(source);
    expect(documents.map(({ ref }) => ref)).toEqual([
      'acme/app#1',
      'acme/app/discussions/2',
      'acme/other#3',
      'acme/other/discussions/4',
    ]);
    for (const { ref } of documents) expect(await source.exists(ref, brief())).toBe(true);
    server.age(server.discussions.all[1]!, 0);
    expect(await listAll(source, checkpoint)).toMatchObject({
      scope: 'changes',
      documents: [{ ref: 'acme/other/discussions/4' }],
    });
    const issuesOnly = await listAll(await open({ ...scope, kinds: ['issues'] }));
    expect(await listAll(source, issuesOnly.checkpoint)).toMatchObject({ scope: 'everything' });
  });

  it('reads issues and pull requests where the scope names no kinds', async () => {
    server = await startGithub();
    server.add('issue', 'x');
    server.add('pull', 'x', { isPull: true });
    server.discuss('discussion', 'x');
    const source = await open();
    expect((await listAll(source)).documents.map(({ ref }) => ref)).toEqual(['acme/app#1', 'acme/app#2']);
    expect(await source.exists('acme/app/discussions/3', brief())).toBe(false);
    expect(server.asked.some(([path]) => path.includes('graphql'))).toBe(false);
  });

  it.each([
    'acme/app#1',
    'acme/app/discussions/2',
    'acme/app/discussions/999999999999',
    'acme/app/discussions/..',
    'acme/elsewhere/discussions/1',
    'acme/app/discussions/1/comments',
  ])('knows no document %s', async (ref) => {
    server = await startDiscussions();
    server.discuss('a', 'x');
    const source = await open();
    expect(await source.exists(ref, brief())).toBe(false);
    expect(await source.fetch({ ...first, ref }, brief())).toEqual({ kind: 'gone' });
  });

  it('asks the GraphQL interface of GitHub Enterprise Server', async () => {
    server = await startDiscussions();
    server.discuss('a', 'x');
    await listAll(await open({ api_url: `${server.origin}/api/v3/` }));
    expect(server.asked).toEqual([['/api/graphql', 200]]);
    expect(graphqlBase('https://api.github.com/')).toBe('https://api.github.com');
    expect(graphqlBase('https://api.acme.ghe.com')).toBe('https://api.acme.ghe.com');
  });

  it('says that a repository does not exist, or has no discussions', async () => {
    server = await startDiscussions();
    await expect((await open({ repositories: ['acme/none'] })).check(brief())).rejects.toMatchObject({
      code: 'scope_invalid',
    });
    server.discuss('a', 'x');
    const source = await open();
    const { checkpoint } = await listAll(source);
    server.discussions.disabled.add('acme/app');
    for (const asked of [
      source.check(brief()),
      source.list({ cursor: null, checkpoint }, brief()),
      source.exists(first.ref, brief()),
      source.fetch(first, brief()),
    ]) {
      await expect(asked).rejects.toMatchObject({ code: 'scope_invalid' });
    }
  });

  it('needs a credential', async () => {
    server = await startDiscussions();
    const source = await openSource(githubProvider, { ...server, credential: null });
    await expect(source.check(brief())).rejects.toMatchObject({ code: 'auth_failed' });
    expect(server.asked).toEqual([]);
  });

  it('waits until a spent limit is renewed', async () => {
    server = await startDiscussions();
    server.budget(1, 120);
    const source = await open();
    await source.check(brief());
    const failure = await source.check(brief()).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'rate_limited' });
    expect((failure as { retryAfterMs: number }).retryAfterMs).toBeGreaterThan(100_000);
    expect((failure as { retryAfterMs: number }).retryAfterMs).toBeLessThanOrEqual(121_000);
  });

  it('begins a listing again whose cursor is refused', async () => {
    server = await startDiscussions();
    for (let at = 0; at < 40; at += 1) server.discuss(`n${at}`, 'x');
    const source = await open();
    const { next } = await source.list({ cursor: null, checkpoint: null }, brief());
    const cursor = next!.replace(Buffer.from('cursor:30').toString('base64'), 'b3RoZXI=');
    expect(cursor).not.toBe(next);
    await expect(source.list({ cursor, checkpoint: null }, brief())).rejects.toMatchObject({
      code: 'cursor_expired',
    });
  });

  it('ends at its limit of documents as truncated and without a checkpoint', async () => {
    server = await startDiscussions();
    for (let at = 0; at < 40; at += 1) server.discuss(`n${at}`, 'x');
    expect(await listAll(await open({ max_documents: 35 }))).toMatchObject({
      documents: { length: 35 },
      truncated: true,
      checkpoint: null,
    });
  });

  it('leaves out what is not shown, and ends where a next page has no place', async () => {
    server = await startDiscussions();
    const source = await open();
    const pageInfo = { hasNextPage: true, endCursor: null };
    const discussions = { pageInfo, nodes: [null] };
    answerNext({ data: { repository: { hasDiscussionsEnabled: true, discussions } } });
    expect(await listAll(source)).toMatchObject({ documents: [], pages: 1 });
  });

  it.each([
    ['no data', {}],
    ['no repository', { data: { repository: null } }],
    ['errors of another kind', { errors: 'no' }],
    ['an empty error', { data: null, errors: [{}] }],
  ])('takes %s as an answer that breaks the protocol', async (_, body) => {
    server = await startDiscussions();
    const source = await open();
    answerNext(body);
    for (const asked of [source.check(brief()), source.exists(first.ref, brief())]) {
      await expect(asked).rejects.toMatchObject({ code: 'source_invalid' });
    }
  });

  it('takes nothing as gone but what the service says of the discussion itself', async () => {
    server = await startDiscussions();
    const source = await open();
    const error = (type: string, ...path: string[]) => ({ type, path, message: 'no' });
    const absent = error('NOT_FOUND', 'repository', 'discussion');
    answerNext({ data: { repository: { discussion: null } }, errors: [absent] });
    expect(await source.exists(first.ref, brief())).toBe(false);
    for (const [errors, code] of [
      [[error('NOT_FOUND', 'repository')], 'scope_invalid'],
      [[error('FORBIDDEN', 'repository', 'discussion')], 'auth_failed'],
      [[absent, error('FORBIDDEN', 'repository')], 'scope_invalid'],
    ] as const) {
      answerNext({ data: { repository: null }, errors });
      await expect(source.exists(first.ref, brief())).rejects.toMatchObject({ code });
    }
  });
});

describe('errors of GraphQL', () => {
  const soon = String(Math.ceil(Date.now() / 1_000) + 30);

  it.each([
    ['NOT_FOUND', 'Could not resolve to a Repository', 'scope_invalid'],
    ['FORBIDDEN', 'Resource not accessible by integration', 'auth_failed'],
    ['INSUFFICIENT_SCOPES', 'Your token has not been granted the required scopes', 'auth_failed'],
    ['INVALID_CURSOR_ARGUMENTS', 'does not appear to be a valid cursor', 'cursor_expired'],
    ['RATE_LIMITED', 'API rate limit exceeded for user ID 1.', 'rate_limited'],
    ['RATE_LIMIT', 'API rate limit already exceeded for user ID 1.', 'rate_limited'],
    [undefined, 'You have exceeded a secondary rate limit.', 'rate_limited'],
    [undefined, 'Something went wrong while executing your query.', 'source_unreachable'],
    [undefined, "We couldn't respond to your request in time.", 'source_unreachable'],
    ['SERVICE_UNAVAILABLE', '', 'source_unreachable'],
    ['RESOURCE_LIMITS_EXCEEDED', 'Resource limits for this query exceeded.', 'source_invalid'],
    [undefined, "Field 'x' doesn't exist on type 'Discussion'", 'source_invalid'],
  ])('%s: %s', (type, message, code) => {
    expect(graphqlFailure([{ type, message }], new Headers())).toMatchObject({
      code,
      retryAfterMs: code === 'rate_limited' ? 60_000 : null,
    });
  });

  it('waits as long as the headers say, whatever other errors there are', () => {
    const errors = [{ type: 'FORBIDDEN' }, { type: 'RATE_LIMITED' }];
    expect(graphqlFailure(errors, new Headers({ 'retry-after': '7' })).retryAfterMs).toBe(7_000);
    const spent = new Headers({ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': soon });
    expect(graphqlFailure(errors, spent).retryAfterMs).toBeLessThan(32_000);
    expect(graphqlFailure(errors, spent).retryAfterMs).toBeGreaterThan(1_000);
  });
});
