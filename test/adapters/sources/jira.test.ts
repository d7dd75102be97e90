import { afterEach, describe, expect, it } from 'vitest';
import { jiraFailure } from '#adapters/sources/jira/failure.ts';
import { jiraProvider } from '#adapters/sources/jira/provider.ts';
import { localTime } from '#adapters/sources/jira/local-time.ts';
import { startJira, type JiraServer } from '../../support/sources/jira-server.ts';
import { node, words } from '../../support/sources/jira-rich-text.ts';
import { listAll, openSource } from '../../support/sources/open-source.ts';
import { describeSource } from '../../support/sources/source-contract.ts';
import { SourceModel } from '../../support/sources/source-model.ts';

describeSource('issues of Jira', {
  provider: jiraProvider,
  start: startJira,
  nameIn: (listed) => /^APP-\d+ (.*)\.md$/su.exec(listed)?.[1] ?? listed,
  narrower: () => ({ projects: ['OPS'] }),
  pageSize: 100,
});

const brief = () => AbortSignal.timeout(20_000);
const hourMs = 3_600_000;
const firstTime = { version: null, mediaType: null, maxBytes: 100_000 };

describe('Jira', () => {
  let server: JiraServer;
  afterEach(() => server?.close());
  const open = (scope: object = {}, credential: JiraServer['credential'] = server.credential) =>
    openSource(jiraProvider, { ...server, credential, scopeConfig: { ...server.scopeConfig, ...scope } });
  const textOf = async (ref: string, scope: object = {}) => {
    const found = await (await open(scope)).fetch({ ref, ...firstTime }, brief());
    return found.kind === 'content' ? Buffer.from(found.content).toString() : found.kind;
  };

  it('describes an issue with its comments', async () => {
    server = await startJira();
    server.add('Login fails', 'It says no.', {
      labels: ['bug', 'login'],
      assignee: 'Cy Example',
      created: Date.parse('2025-01-01T12:00:00Z'),
      comments: [{ body: 'Me too.' }, { body: 'Fixed.', author: null }],
    });
    const { documents } = await listAll(await open());
    expect(documents).toEqual([
      {
        ref: '10001',
        name: 'APP-1 Login fails.md',
        version: expect.stringMatching(/^\d{4}-\S+Z\/[0-9a-f]{16}$/) as unknown,
        byteSize: null,
        mediaType: 'text/markdown',
        url: `${server.origin}/browse/APP-1`,
      },
    ]);
    expect(await textOf('10001')).toBe(
      '# Login fails\n\nBug APP-1 by Ada Example, 2025-01-01, To Do; assigned to Cy Example; labels: bug, login\n\n' +
        'It says no.\n\n## Comment by Ben Example, 2025-02-01\n\nMe too.\n\n' +
        '## Comment by Former user, 2025-02-01\n\nFixed.',
    );
  });

  it('cuts a summary between characters', async () => {
    server = await startJira();
    server.add(`x${'😀'.repeat(300)}`, 'text');
    const [listed] = (await listAll(await open())).documents;
    expect(listed!.name).toMatch(/^APP-1 x(?:😀){199}\uFFFD\.md$/u);
  });

  it('reads all comments, but none beyond the limit of a document', async () => {
    server = await startJira();
    const made = server.add('Long', 'body', {
      comments: Array.from({ length: 230 }, (_, at) => ({ body: `comment ${at}.` })),
    });
    const text = await textOf('10001');
    expect(text.match(/comment \d+\./g)).toEqual(Array.from({ length: 230 }, (_, at) => `comment ${at}.`));
    made.comments = Array.from({ length: 500 }, () => ({ body: 'word '.repeat(100) }));
    server.asked.length = 0;
    const source = await open();
    expect(await source.fetch({ ref: '10001', ...firstTime, maxBytes: 2_000 }, brief())).toMatchObject({
      code: 'too_large',
    });
    expect(server.asked.length).toBe(2);
    expect(await textOf('10001', { comments: false })).not.toContain('Comment by');
  });

  it('reads an issue whose comments exceed the limit of a response', async () => {
    server = await startJira();
    const large = 'many words '.repeat(60_000);
    server.inlineComments = 100;
    server.add('Large', 'body', { comments: Array.from({ length: 14 }, () => ({ body: large })) });
    const source = await open();
    const input = { ref: '10001', ...firstTime, maxBytes: 32 * 1_048_576 };
    server.interfere((request, response) => {
      // Each response of comments holds a part of them, as the service does where they are large.
      const url = new URL(request.url ?? '', server.origin);
      if (!url.pathname.endsWith('/comment')) return false;
      const at = Number(url.searchParams.get('startAt'));
      const body = {
        type: 'doc',
        content: [{ type: 'paragraph', content: [{ type: 'text', text: large }] }],
      };
      const comments = [{ body, created: '2025-02-01T09:00:00.000+0000' }];
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ comments: at < 14 ? comments : [], startAt: at, total: 14 }));
      return true;
    });
    const found = await source.fetch(input, brief());
    expect(found).toMatchObject({ kind: 'content' });
    expect(found.kind === 'content' && found.content.byteLength).toBeGreaterThan(14 * 600_000);
  });

  it('counts the names of authors, whose comments may say nothing', async () => {
    server = await startJira();
    server.add('Named', 'body', { comments: Array.from({ length: 30 }, () => ({ body: 'said' })) });
    const source = await open();
    const author = { displayName: 'n'.repeat(1_000) };
    let pages = 0;
    server.interfere((request, response) => {
      const url = new URL(request.url ?? '', server.origin);
      if (!url.pathname.endsWith('/comment')) return false;
      pages += 1;
      const comments = Array.from({ length: 100 }, () => ({
        author,
        body: null,
        created: '2025-02-01T09:00:00.000+0000',
      }));
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ comments, startAt: 0, total: 1_000_000 }));
      return true;
    });
    expect(await source.fetch({ ref: '10001', ...firstTime, maxBytes: 250_000 }, brief())).toMatchObject({
      kind: 'skipped',
      code: 'too_large',
    });
    expect(pages).toBe(3);
  });

  it('reads many issues with one request, and leaves those with more comments to requests of their own', async () => {
    server = await startJira();
    for (let at = 0; at < 40; at += 1) server.add(`n${at}`, `text ${at}`, { comments: [{ body: 'said' }] });
    server.change(server.issues[7]!, {
      comments: Array.from({ length: 30 }, (_, at) => ({ body: `comment ${at}.` })),
    });
    server.issues[8]!.isDeleted = true;
    const source = await open();
    const { documents } = await listAll(source);
    const refs = [...documents.map(({ ref }) => ref), '10009', '../x'];
    server.asked.length = 0;
    expect(await source.prepare!(refs, brief())).toBe(38);
    const read = async (ref: string) => {
      const found = await source.fetch({ ref, ...firstTime }, brief());
      return found.kind === 'content' ? Buffer.from(found.content).toString() : found.kind;
    };
    for (const { ref, name } of documents) {
      const text = await read(ref);
      expect(text).toContain(`text ${/ n(\d+)\.md$/.exec(name)![1]}`);
      if (ref === '10008') expect(text).toContain('comment 29.');
    }
    expect(await read('10009')).toBe('gone');
    expect(server.asked.filter(([path]) => path.startsWith('POST'))).toHaveLength(1);
    expect(server.asked.filter(([path]) => path.startsWith('GET'))).toEqual([
      ['GET /issue/10008/comment', 200],
      ['GET /issue/10009', 404],
      ['GET /myself', 200],
    ]);
  });

  it.each([
    ['is refused', 403],
    ['is too long', 200],
  ])('reads issues one by one where a response of many %s', async (_, status) => {
    server = await startJira();
    for (const name of ['a', 'b']) server.add(name, `text ${name}`);
    let asked = 0;
    server.interfere((request, response) => {
      if (request.url?.endsWith('/bulkfetch') !== true) return false;
      asked += 1;
      response.writeHead(status, { 'content-type': 'application/json' }).end(' '.repeat(9 * 1_048_576));
      return true;
    });
    const source = await open();
    for (let times = 0; times < 2; times += 1)
      expect(await source.prepare!(['10001', '10002'], brief())).toBe(0);
    expect(asked).toBe(1);
    expect(await source.fetch({ ref: '10001', ...firstTime }, brief())).toMatchObject({ kind: 'content' });
  });

  it('reads an issue by itself whose text does not fit beside others, and no text of comments that are left out', async () => {
    server = await startJira();
    let deep: object = node('paragraph', [words('a\n'.repeat(500_000))]);
    for (let level = 0; level < 30; level += 1) deep = node('blockquote', [deep]);
    server.add('deep', '', { description: node('doc', [deep]) });
    const hidden = { body: 'long '.repeat(50_000), visibility: { type: 'role', value: 'Leads' } };
    server.add('b', 'text', { comments: [hidden, { body: 'said' }] });
    const source = await open();
    expect(await source.prepare!(['10001', '10002'], brief())).toBe(1);
    server.asked.length = 0;
    expect(await source.fetch({ ref: '10002', ...firstTime }, brief())).toMatchObject({ kind: 'content' });
    expect(await source.fetch({ ref: '10001', ...firstTime }, brief())).toMatchObject({ code: 'too_large' });
    expect(server.asked).toEqual([['GET /issue/10001', 200]]);
  });

  it('reports a credential that is refused while many issues are read', async () => {
    server = await startJira();
    for (const name of ['a', 'b']) server.add(name, 'text');
    const source = await open();
    await server.renewCredential!();
    await expect(source.prepare!(['10001', '10002'], brief())).rejects.toMatchObject({ code: 'auth_failed' });
  });

  it.each([
    'a = 1) OR (b = 2',
    '(a = 1',
    'a = "b',
    "a = 'b",
    'a = "b" "c',
    ')(',
    'a = "b\\"',
    'a = b\\',
    String.raw`a = b\" AND (c = 1`,
  ])('accepts no filter that the restriction to projects cannot enclose: %s', async (jql) => {
    server = await startJira();
    await expect(async () => open({ jql })).rejects.toMatchObject({ code: 'invalid_request' });
  });

  it.each([
    'labels in ("a)", \'b(\') AND (x = 1 OR (y = 2))',
    String.raw`summary ~ "a \" ("`,
    String.raw`summary ~ a\'b`,
    `summary ~ "it's"`,
  ])('accepts a filter with parentheses and quotation marks: %s', async (jql) => {
    server = await startJira();
    await open({ jql });
  });

  it('fetches what has not changed without its content, in whatever zone times are shown', async () => {
    server = await startJira();
    server.add('a', 'text', { comments: [{ body: 'said' }], updated: Date.parse('2025-01-21T09:15:00Z') });
    const source = await open();
    const [listed] = (await listAll(source)).documents;
    expect(await source.fetch({ ...listed!, maxBytes: 100_000 }, brief())).toEqual({ kind: 'unchanged' });
    server.interfere((request, response) => {
      if (!request.url?.startsWith('/rest/api/3/search')) return false;
      const { id, project, number, summary } = server.issues[0]!;
      const fields = {
        summary,
        project: { key: project },
        status: { name: 'To Do' },
        issuetype: { name: 'Bug' },
      };
      const times = { created: '2025-01-01T00:00:00.000-0500', updated: '2025-01-21T04:15:00.000-0500' };
      response.writeHead(200, { 'content-type': 'application/json' });
      const issue = { id, key: `${project}-${number}`, fields: { ...fields, ...times, labels: [] } };
      response.end(JSON.stringify({ issues: [issue], isLast: true }));
      return true;
    });
    expect((await listAll(source)).documents[0]!.version).toBe(listed!.version);
  });

  it('leaves out what is restricted, also issues that become so, unless the scope names it', async () => {
    server = await startJira();
    const a = server.add('a', 'text', {
      comments: [
        { body: 'for all' },
        { body: 'for leads', visibility: { type: 'role', value: 'Leads', identifier: '1' } },
        { body: 'among agents', jsdPublic: false },
      ],
    });
    server.add('b', 'secret', { security: { id: '1', name: 'Board' } });
    const model = new SourceModel();
    const source = await open({ relist_hours: 24 });
    await model.sync(source);
    expect([...model.copies.keys()]).toEqual(['10001']);
    expect(model.copies.get('10001')!.text).toContain('for all');
    expect(model.copies.get('10001')!.text).not.toMatch(/leads|agents/);
    expect(await source.exists('10002', brief())).toBe(false);
    expect(await textOf('10002')).toBe('gone');
    server.change(a, { security: { id: '1', name: 'Board' } });
    expect(await model.sync(source)).toMatchObject({ scope: 'changes', gone: ['10001', '10002'] });
    expect(model.copies.size).toBe(0);
    await model.sync(await open({ relist_hours: 24, restricted: true }));
    expect([...model.copies.keys()]).toEqual(['10001', '10002']);
    expect(model.copies.get('10001')!.text).toMatch(/for leads[^]*among agents/);
  });

  it.each(['America/New_York', 'Asia/Kolkata', 'Pacific/Kiritimati', 'Mars/Base', null])(
    'lists what changed since the last listing, for an account in the zone %s',
    async (timeZone) => {
      server = await startJira();
      for (let at = 0; at < 130; at += 1)
        server.add(`n${at}`, `text ${at}`, { updated: Date.now() - 48 * hourMs });
      const model = new SourceModel();
      const source = await open({ relist_hours: 24 });
      expect(await model.sync(source)).toMatchObject({ scope: 'everything', documents: { length: 130 } });
      // An unknown zone at the service would be refused there; here only its name is unknown.
      server.timeZone = timeZone;
      if (timeZone === 'Mars/Base') server.readsTimesIn = 'Pacific/Kiritimati';
      expect(await model.sync(source)).toMatchObject({ scope: 'changes', documents: [] });
      await server.put('n3', 'changed');
      await server.put('fresh', 'text');
      const changed = await model.sync(source);
      expect(changed).toMatchObject({ scope: 'changes', pages: 1 });
      expect(changed.documents.map(({ ref }) => ref)).toEqual(['10004', '10131']);
      expect(model.copies.get('10004')!.text).toContain('changed');
    },
  );

  it('finds deletions with complete listings, after the hours of the scope', async () => {
    server = await startJira();
    for (let at = 0; at < 3; at += 1) server.add(`n${at}`, `text ${at}`);
    const model = new SourceModel();
    const source = await open({ relist_hours: 24 });
    await model.sync(source);
    await server.remove('n1');
    expect(await model.sync(source)).toMatchObject({ scope: 'changes' });
    expect(model.copies.size).toBe(3);
    model.checkpoint = model.checkpoint!.replace(/"whole":"[^"]*"/, '"whole":"2020-01-01T00:00:00.000Z"');
    expect(await model.sync(source)).toMatchObject({ scope: 'everything' });
    expect([...model.copies.keys()]).toEqual(['10001', '10003']);
  });

  it('lists changes and everything again in time where the clock of the service is wrong', async () => {
    server = await startJira();
    server.add('a', 'text', { updated: Date.now() - 48 * hourMs });
    const model = new SourceModel();
    const source = await open({ relist_hours: 24 });
    server.date = 'Fri, 01 Jan 2100 00:00:00 GMT';
    await model.sync(source);
    expect(Date.parse((JSON.parse(model.checkpoint!) as { whole: string }).whole)).toBeLessThanOrEqual(
      Date.now(),
    );
    server.date = 'Sat, 01 Jan 2000 00:00:00 GMT';
    await server.put('a', 'other');
    await model.sync(source);
    expect(model.copies.get('10001')!.text).toContain('other');
    expect(await model.sync(source)).toMatchObject({ scope: 'changes', documents: { length: 1 } });
  });

  it('notices a change that the index of the search showed after the next listing, for 70 minutes', async () => {
    server = await startJira();
    const a = server.add('a', 'text', { updated: Date.now() - 48 * hourMs });
    const model = new SourceModel();
    const source = await open({ relist_hours: 24 });
    await model.sync(source);
    server.freezeIndex(true);
    server.change(a, { status: 'Done', updated: Date.now() - 65 * 60_000 });
    await model.sync(source);
    await model.sync(source);
    expect(model.copies.get('10001')!.text).toContain('To Do');
    server.freezeIndex(false);
    await model.sync(source);
    expect(model.copies.get('10001')!.text).toContain('Done');
  });

  it('keeps an issue that the index lacks, and does not bring back what it still shows', async () => {
    server = await startJira();
    server.add('a', 'text', { labels: ['handbook'] });
    const model = new SourceModel();
    const source = await open({ jql: 'labels = "handbook"' });
    server.freezeIndex(true);
    await model.sync(source);
    await server.remove('a');
    await model.sync(source);
    model.copies.delete('10001');
    await model.sync(source);
    expect(model.copies.size).toBe(0);
    server.freezeIndex(true);
    server.add('b', 'text', { labels: ['handbook'] });
    model.copies.set('10002', { name: 'b', version: null, text: '' });
    await model.sync(source);
    expect([...model.copies.keys()]).toEqual(['10002']);
  });

  it('stays the same document when it is moved to another project or renamed', async () => {
    server = await startJira();
    const a = server.add('a', 'text');
    const model = new SourceModel();
    const source = await open({ projects: ['APP', 'OPS'] });
    await model.sync(source);
    server.change(a, { project: 'OPS', number: 77, summary: 'other' });
    await model.sync(source);
    expect([...model.copies]).toMatchObject([['10001', { name: 'OPS-77 other.md' }]]);
    const narrow = await open({ projects: ['APP'] });
    await model.sync(narrow);
    expect(model.copies.size).toBe(0);
    expect(await textOf('10001')).toBe('gone');
  });

  it('reads what matches the filter, also beside projects, and drops what no longer does', async () => {
    server = await startJira();
    server.add('a', 'text', { labels: ['handbook'] });
    server.add('b', 'text');
    server.add('c', 'text', { labels: ['handbook'], project: 'OPS' });
    const refs = async (scope: object) => (await listAll(await open(scope))).documents.map(({ ref }) => ref);
    expect(await refs({ jql: 'labels = "handbook"' })).toEqual(['10001']);
    expect(await refs({ projects: [], jql: 'labels = "handbook"' })).toEqual(['10001', '10003']);
    expect(await refs({ projects: ['OPS', 'APP'] })).toEqual(['10001', '10002', '10003']);
    const source = await open({ jql: 'labels = "handbook"' });
    expect(await source.exists('10001', brief())).toBe(true);
    expect(await source.exists('10002', brief())).toBe(false);
    expect(await source.exists('10003', brief())).toBe(false);
    const model = new SourceModel();
    await model.sync(source);
    server.change(server.issues[0]!, { labels: [] });
    await model.sync(source);
    expect(model.copies.size).toBe(0);
  });

  it('says what of the scope does not exist, or is not accepted', async () => {
    server = await startJira();
    await (await open()).check(brief());
    for (const [scope, message] of [
      [{ projects: ['APP', 'NONE'] }, /NONE/],
      [{ jql: 'labels = "a" ORDER BY rank' }, /filter/],
      [{ projects: [], jql: 'nonsense' }, /filter/],
    ] as const)
      await expect((await open(scope)).check(brief())).rejects.toMatchObject({
        code: 'scope_invalid',
        message: expect.stringMatching(message) as unknown,
      });
    const many = Array.from({ length: 60 }, (_, at) => `P${at}`);
    server.projects.push(...many);
    await (await open({ projects: many })).check(brief());
    for (const scope of [{ projects: [], jql: ' ' }, { projects: ['app'] }, { projects: ['A"B'] }])
      await expect(async () => open(scope)).rejects.toMatchObject({ code: 'invalid_request' });
  });

  it('deletes nothing when the service answers a refused credential as anonymous people', async () => {
    server = await startJira();
    server.add('a', 'text');
    const model = new SourceModel();
    const source = await open();
    await model.sync(source);
    server.answersAnonymous = true;
    await server.renewCredential!();
    const requests = [
      () => source.check(brief()),
      () => source.list({ cursor: null, checkpoint: null }, brief()),
      () => source.exists('10001', brief()),
      () => source.fetch({ ref: '10001', ...firstTime }, brief()),
    ];
    for (const request of requests) await expect(request()).rejects.toMatchObject({ code: 'auth_failed' });
    await expect(model.sync(source)).rejects.toMatchObject({ code: 'auth_failed' });
    expect(model.copies.size).toBe(1);
  });

  it('begins again where a page within a listing is refused', async () => {
    server = await startJira();
    for (let at = 0; at < 120; at += 1) server.add(`n${at}`, `text ${at}`);
    const source = await open();
    const { next } = await source.list({ cursor: null, checkpoint: null }, brief());
    server.expire();
    for (const cursor of [next, 'other', '["{}",0,0]', '["",0,0]'])
      await expect(source.list({ cursor, checkpoint: null }, brief())).rejects.toMatchObject({
        code: 'cursor_expired',
      });
    const daily = await open({ relist_hours: 24 });
    const { checkpoint: recent } = await listAll(daily);
    const ahead = recent!.replace(/"whole":"[^"]*"/, '"whole":"2100-01-01T00:00:00.000Z"');
    expect(await listAll(daily, recent)).toMatchObject({ scope: 'changes' });
    expect(await listAll(daily, ahead)).toMatchObject({ scope: 'everything' });
    const other = JSON.stringify({
      scope: 'x',
      whole: new Date().toISOString(),
      began: new Date().toISOString(),
    });
    for (const checkpoint of ['of another version', other])
      expect(await listAll(await open({ relist_hours: 24 }), checkpoint)).toMatchObject({
        scope: 'everything',
      });
  });

  it('pages changes with one query, whatever time passes between the pages', async () => {
    server = await startJira();
    for (let at = 0; at < 250; at += 1) server.add(`n${at}`, `text ${at}`);
    const model = new SourceModel();
    const source = await open({ relist_hours: 24 });
    await model.sync(source);
    server.queries.length = 0;
    server.timeZone = 'America/New_York';
    const first = await source.list({ cursor: null, checkpoint: model.checkpoint }, brief());
    server.timeZone = 'Asia/Tokyo';
    await source.list({ cursor: first.next, checkpoint: model.checkpoint }, brief());
    expect(new Set(server.queries)).toEqual(
      new Set([
        expect.stringMatching(/^project in \("APP"\) AND updated >= "[\d -]+:\d\d" ORDER BY created ASC/),
      ]),
    );
  });

  it('misses no issue while others change during a listing', async () => {
    server = await startJira();
    for (let at = 0; at < 250; at += 1) server.add(`n${at}`, `text ${at}`);
    const source = await open();
    const refs: string[] = [];
    for (let cursor: string | null = null, pages = 0; pages === 0 || cursor !== null; pages += 1) {
      const page = await source.list({ cursor, checkpoint: null }, brief());
      refs.push(...page.documents.map(({ ref }) => ref));
      cursor = page.next;
      server.change(server.issues[pages]!, { summary: 'changed' });
      server.issues[pages + 10]!.isDeleted = true;
    }
    expect(new Set(refs).size).toBe(250);
    expect(refs).toHaveLength(250);
  });

  it('ends at its limit, and at a token that repeats, as truncated and without a checkpoint', async () => {
    server = await startJira();
    for (let at = 0; at < 60; at += 1) server.add(`n${at}`, 'x');
    const cut = { documents: { length: 55 }, truncated: true, checkpoint: null };
    expect(await listAll(await open({ max_documents: 55 }))).toMatchObject(cut);
    expect(await listAll(await open({ max_documents: 60 }))).toMatchObject({ truncated: false });
    const respondWith = (body: object) =>
      server.interfere((request, response) => {
        if (request.url?.endsWith('/search/jql') !== true) return false;
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
        return true;
      });
    respondWith({ issues: [], nextPageToken: 'again', isLast: false });
    expect(await listAll(await open())).toMatchObject({ truncated: true, pages: 2, checkpoint: null });
    respondWith({ issues: [], nextPageToken: 'x'.repeat(9_000) });
    await expect(listAll(await open())).rejects.toMatchObject({ code: 'source_invalid' });
    for (const last of [
      { nextPageToken: 'more', isLast: true },
      { nextPageToken: '' },
      { nextPageToken: null },
    ]) {
      respondWith({ issues: [], ...last });
      expect(await listAll(await open())).toMatchObject({ truncated: false, pages: 1 });
    }
  });

  it.each([
    ['an id that would be another path', { id: '../../myself' }],
    ['an id that is a number', { id: 10_001 }],
    ['a key that would be another address', { key: '../x' }],
    ['a time that is none', { fields: { updated: 'yesterday' } }],
    ['no project', { fields: { project: null } }],
    ['an endless summary', { fields: { summary: 'x'.repeat(2_000) } }],
  ])('refuses an issue with %s', async (_, wrong) => {
    server = await startJira();
    const { fields, ...rest } = wrong as { fields?: object };
    const now = '2025-01-01T00:00:00.000+0000';
    const right = { summary: 'a', project: { key: 'APP' }, created: now, updated: now };
    server.interfere((request, response) => {
      if (request.url?.endsWith('/search/jql') !== true) return false;
      const issue = { id: '10001', key: 'APP-1', ...rest, fields: { ...right, ...fields } };
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ issues: [issue], isLast: true }));
      return true;
    });
    await expect(listAll(await open())).rejects.toMatchObject({ code: 'source_invalid' });
  });

  it('asks for no reference of another form', async () => {
    server = await startJira();
    server.add('a', 'text');
    server.add('b', 'text');
    const source = await open();
    for (const ref of ['../myself', 'APP-1', '1/comment', '', '\ud800', '0', '1e5']) {
      expect(await source.exists(ref, brief())).toBe(false);
      expect(await source.fetch({ ref, ...firstTime }, brief())).toEqual({ kind: 'gone' });
    }
    expect(server.asked).toEqual([]);
  });

  it('takes no other issue for that of a reference', async () => {
    server = await startJira();
    server.add('a', 'text');
    server.add('b', 'text');
    server.interfere((request) => {
      request.url = request.url?.replace('10001', '10002') ?? '';
      return false;
    });
    const source = await open();
    expect(await source.exists('10001', brief())).toBe(false);
    expect(await source.exists('10002', brief())).toBe(true);
    expect(await source.fetch({ ref: '10001', ...firstTime }, brief())).toEqual({ kind: 'gone' });
  });

  it('takes a bearer token at the address with a cloud id, and shows where people open the issues', async () => {
    server = await startJira();
    server.add('a', 'text');
    const scope = { base_url: `${server.origin}/ex/jira/11223344-a1b2` };
    const credential = { origin: server.origin, value: { kind: 'bearer', token: 'scoped' } as const };
    const source = await open(scope, credential);
    await source.check(brief());
    for (let times = 0; times < 2; times += 1)
      expect((await listAll(source)).documents).toMatchObject([{ url: 'https://jira.example/browse/APP-1' }]);
    expect(server.asked.filter(([path]) => path.endsWith('/serverInfo'))).toHaveLength(1);
    server.interfere((request, response) => {
      if (request.url?.endsWith('/serverInfo') !== true) return false;
      response.writeHead(403).end();
      return true;
    });
    expect((await listAll(await open(scope, credential))).documents).toMatchObject([{ url: null }]);
  });

  it('waits for as long as the service says', () => {
    const pauseOf = (headers: Record<string, string>) =>
      jiraFailure(new Response(null, { status: 429, headers }))?.retryAfterMs ?? null;
    expect(pauseOf({ 'retry-after': '7', 'x-ratelimit-reset': '2099-01-01T00:00Z' })).toBe(7_000);
    const soon = new Date(Date.now() + 120_000).toISOString().slice(0, 16);
    expect(pauseOf({ 'x-ratelimit-reset': `${soon}Z` })).toBeGreaterThan(55_000);
    expect(pauseOf({ 'x-ratelimit-reset': '2099-01-01T00:00Z' })).toBe(3_600_000);
    expect(pauseOf({ 'x-ratelimit-reset': 'soon' })).toBeNull();
    expect(jiraFailure(new Response(null, { status: 400 }))).toBeNull();
  });

  it('writes times as clocks of the account show them, and the earliest where its zone is unknown', () => {
    const time = new Date('2025-07-01T02:05:59Z');
    expect(localTime(time, 'America/New_York')).toBe('2025-06-30 22:05');
    expect(localTime(time, 'Asia/Kolkata')).toBe('2025-07-01 07:35');
    expect(localTime(new Date('2025-07-01T00:00:00Z'), 'UTC')).toBe('2025-07-01 00:00');
    for (const unknown of [null, 'Mars/Base', '']) expect(localTime(time, unknown)).toBe('2025-06-30 14:05');
  });
});
