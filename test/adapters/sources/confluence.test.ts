import { afterEach, describe, expect, it } from 'vitest';
import { confluenceProvider } from '#adapters/sources/confluence/provider.ts';
import { storageToHtml } from '#adapters/sources/confluence/storage-html.ts';
import type { Source } from '#domain/knowledge/connectors/source.ts';
import { startConfluence, type ConfluenceServer } from '../../support/sources/confluence-server.ts';
import { listAll, openSource } from '../../support/sources/open-source.ts';
import { describeSource } from '../../support/sources/source-contract.ts';

describeSource('pages of Confluence', {
  provider: confluenceProvider,
  start: startConfluence,
  narrower: ({ spaces }) => {
    spaces.set('20', 'OPS');
    return { spaces: ['OPS'] };
  },
  pageSize: 100,
});

const brief = () => AbortSignal.timeout(20_000);

describe('Confluence', () => {
  let server: ConfluenceServer;
  afterEach(() => server?.close());
  const open = (scope: object = {}): Promise<Source> =>
    openSource(confluenceProvider, { ...server, scopeConfig: { ...server.scopeConfig, ...scope } });
  const readersOf = async (title: string) => {
    const { documents } = await listAll(await open({ readers: true }));
    return documents.find(({ name }) => name === title)?.readers;
  };

  it('describes a page with its address and its version', async () => {
    server = await startConfluence();
    await server.put('Über uns', 'text');
    await server.put('Über uns', 'text again');
    const { documents } = await listAll(await open());
    expect(documents).toEqual([
      {
        ref: '101',
        name: 'Über uns',
        version: '2',
        byteSize: null,
        mediaType: 'text/html',
        url: `${server.origin}/wiki/spaces/DOC/pages/101/%C3%9Cber%20uns`,
      },
    ]);
  });

  it('cuts a title between characters', async () => {
    server = await startConfluence();
    server.putStorage(`x${'😀'.repeat(300)}`, '<p>a</p>');
    const [listed] = (await listAll(await open())).documents;
    expect(listed!.name.isWellFormed()).toBe(true);
  });

  it('lists the spaces of the scope, or all, and no drafts', async () => {
    server = await startConfluence();
    server.spaces.set('20', 'OPS');
    server.putStorage('a', '<p>a</p>');
    server.putStorage('b', '<p>b</p>', { spaceId: '20' });
    server.putStorage('c', '<p>c</p>', { status: 'draft' });
    const names = async (spaces: string[]) =>
      (await listAll(await open({ spaces }))).documents.map(({ name }) => name);
    expect(await names(['DOC'])).toEqual(['a']);
    expect(await names(['OPS', 'DOC'])).toEqual(['a', 'b']);
    expect(await names([])).toEqual(['a', 'b']);
    await expect(names(['DOC', 'NONE'])).rejects.toMatchObject({ code: 'scope_invalid' });
    expect(await (await open()).exists('102', brief())).toBe(false);
  });

  it('reads who may read a page: of its space, without those whom a restriction leaves out', async () => {
    server = await startConfluence();
    server.spaceReaders = { users: ['1:carla'], groups: ['staff', 'guests'] };
    for (const name of ['anna', 'bert', 'carla', 'dora', 'eva'])
      server.emails.set(`1:${name}`, `${name}@Example.com`);
    server.members.set('staff', ['1:anna', '1:bert', '1:hidden']);
    server.members.set('guests', ['1:eva']);
    server.members.set('board', ['1:anna', '1:dora']);
    server.putStorage('open', 'x');
    const top = server.putStorage('top', 'x', {
      restricted: { users: ['1:anna', '1:dora'], groups: ['guests'] },
    });
    const below = server.putStorage('below', 'x', { parentId: top.id });
    server.putStorage('deep', 'x', {
      parentId: below.id,
      restricted: { users: ['1:eva', '1:bert'], groups: [] },
    });
    server.putStorage('board', 'x', { restricted: { users: [], groups: ['board'] } });
    server.putStorage('hidden', 'x', { restricted: { users: ['1:hidden'], groups: [] } });
    expect(await readersOf('open')).toEqual({
      addresses: ['carla@example.com'],
      groups: ['staff', 'guests'],
    });
    expect(await readersOf('top')).toEqual({ addresses: ['anna@example.com'], groups: ['guests'] });
    expect(await readersOf('below')).toEqual({ addresses: ['anna@example.com'], groups: ['guests'] });
    expect(await readersOf('deep')).toEqual({ addresses: ['eva@example.com'], groups: [] });
    expect(await readersOf('board')).toEqual({ addresses: ['anna@example.com'], groups: [] });
    expect(await readersOf('hidden')).toEqual({ addresses: [], groups: [] });
  });

  it('obeys the restrictions of folders and of pages above them', async () => {
    server = await startConfluence();
    server.spaceReaders = { users: [], groups: ['staff', 'board'] };
    const top = server.putStorage('top', 'x', { restricted: { users: [], groups: ['board'] } });
    const folder = server.putStorage('folder', '', { type: 'folder', parentId: top.id });
    const inner = server.putStorage('inner', '', { type: 'folder', parentId: folder.id });
    server.putStorage('below', 'x', { parentId: inner.id });
    const closed = server.putStorage('closed', '', {
      type: 'folder',
      restricted: { users: [], groups: ['staff'] },
    });
    server.putStorage('in closed', 'x', { parentId: closed.id });
    const free = server.putStorage('free', '', { type: 'folder' });
    server.putStorage('in free', 'x', { parentId: free.id });
    expect(await readersOf('below')).toEqual({ addresses: [], groups: ['board'] });
    expect(await readersOf('in closed')).toEqual({ addresses: [], groups: ['staff'] });
    expect(await readersOf('in free')).toEqual({ addresses: [], groups: ['staff', 'board'] });
    expect((await listAll(await open())).documents.map(({ name }) => name)).not.toContain('folder');
  });

  it('has no readers where it is not said what is above a page', async () => {
    server = await startConfluence();
    server.spaceReaders = { users: [], groups: ['staff'] };
    const top = server.putStorage('top', 'x', { restricted: { users: [], groups: ['board'] } });
    server.putStorage('below', 'x', { parentId: top.id });
    server.interfere((request, response) => {
      if (!request.url?.includes('/ancestors')) return false;
      response.writeHead(404, { 'content-type': 'application/json' }).end('{}');
      return true;
    });
    expect(await readersOf('below')).toEqual({ addresses: [], groups: [] });
  });

  it('names the site in addresses of pages, whatever the address of the interface', async () => {
    server = await startConfluence();
    server.site = 'https://example.atlassian.net/wiki';
    server.putStorage('a', 'x');
    const address = async () => (await listAll(await open())).documents[0]?.url;
    expect(await address()).toBe('https://example.atlassian.net/wiki/spaces/DOC/pages/101/a');
    server.site = 'javascript:alert(1)//';
    expect(await address()).toBe(`${server.origin}/wiki/spaces/DOC/pages/101/a`);
  });

  it('confirms its credential before a page that is not shown counts as gone', async () => {
    server = await startConfluence();
    server.putStorage('a', 'x');
    const source = await open({ spaces: [] });
    expect(await source.exists('999', brief())).toBe(false);
    // As to anonymous people.
    server.interfere((request, response) => {
      const isList = request.url?.includes('/spaces') === true;
      response.writeHead(isList ? 200 : 404, { 'content-type': 'application/json' });
      response.end(isList ? '{"results":[],"_links":{}}' : '{}');
      return true;
    });
    const refused = { code: 'auth_failed' };
    await expect(source.exists('101', brief())).rejects.toMatchObject(refused);
    await expect(source.fetch({ ref: '101', maxBytes: 1_000 } as never, brief())).rejects.toMatchObject(
      refused,
    );
  });

  it.each([403, 404])('tells nobody about a page whose restrictions are answered with %i', async (status) => {
    server = await startConfluence();
    server.spaceReaders = { users: [], groups: ['staff'] };
    server.putStorage('a', 'x');
    server.interfere((request, response) => {
      if (!request.url?.includes('/restriction/')) return false;
      response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
      return true;
    });
    expect(await readersOf('a')).toEqual({ addresses: [], groups: [] });
  });

  it('reads the restrictions of pages above once for all that are below', async () => {
    server = await startConfluence();
    server.spaceReaders = { users: [], groups: ['staff'] };
    const top = server.putStorage('top', 'x', { restricted: { users: [], groups: ['staff'] } });
    for (let at = 0; at < 20; at += 1) server.putStorage(`n${at}`, 'x', { parentId: top.id });
    await listAll(await open({ readers: true }));
    const restrictions = server.asked.filter((each) => each.includes(`/content/${top.id}/restriction`));
    expect(restrictions.length).toBeLessThanOrEqual(6);
    expect(server.asked.filter((each) => each.endsWith('/permissions')).length).toBeLessThanOrEqual(5);
  });

  it('names the members of groups page by page', async () => {
    server = await startConfluence();
    for (let at = 0; at < 450; at += 1) server.emails.set(`1:p${at}`, `p${at}@example.com`);
    server.members.set('large', [...server.emails.keys()]);
    for (let at = 0; at < 44; at += 1) server.members.set(`g${at}`, [`1:p${at}`]);
    const source = await open();
    const found = new Map<string, readonly string[]>();
    let pages = 0;
    for (let cursor: string | null = null; pages === 0 || cursor !== null; pages += 1) {
      const page = await source.groups!(cursor, brief());
      for (const { id, members } of page.groups) found.set(id, members);
      cursor = page.next;
    }
    expect(pages).toBe(3);
    expect(found.size).toBe(45);
    expect(found.get('large')).toHaveLength(450);
    expect(found.get('g7')).toEqual(['p7@example.com']);
  });

  it('takes a bearer token as well', async () => {
    server = await startConfluence();
    const { origin } = server.credential!;
    const credential = { origin, value: { kind: 'bearer', token: 'scoped' } as const };
    const source = await openSource(confluenceProvider, { ...server, credential });
    expect((await listAll(source)).documents).toEqual([]);
  });

  it('says that a cursor has expired', async () => {
    server = await startConfluence();
    for (let at = 0; at < 101; at += 1) await server.put(`n${at}`, 'x');
    const source = await open();
    const { next } = await source.list({ cursor: null, checkpoint: null }, brief());
    server.expire();
    for (const cursor of [next, 'no cursor']) {
      await expect(source.list({ cursor, checkpoint: null }, brief())).rejects.toMatchObject({
        code: 'cursor_expired',
      });
    }
  });

  it('ends at its limit, at a cursor that repeats, and never leaves its origin for a next page', async () => {
    server = await startConfluence();
    for (let at = 0; at < 3; at += 1) await server.put(`n${at}`, 'x');
    expect(await listAll(await open({ max_documents: 2 }))).toMatchObject({
      documents: { length: 2 },
      truncated: true,
    });
    expect(await listAll(await open({ max_documents: 3 }))).toMatchObject({ truncated: false });
    server.interfere((request, response) => {
      if (!request.url?.startsWith('/wiki/api/v2/pages?')) return false;
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(
        JSON.stringify({ results: [], _links: { next: 'http://127.0.0.1:9/wiki/x?cursor=again' } }),
      );
      return true;
    });
    expect(await listAll(await open())).toMatchObject({ truncated: true, pages: 2 });
  });

  it('refuses ids that would be other paths', async () => {
    server = await startConfluence();
    server.putStorage('a', 'x').id = '../../rest';
    server.interfere((request, response) => {
      if (!request.url?.startsWith('/wiki/api/v2/pages?')) return false;
      const page = { id: '../x', status: 'current', title: 'a', spaceId: '10', version: { number: 1 } };
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ results: [page] }));
      return true;
    });
    await expect(listAll(await open())).rejects.toMatchObject({ code: 'source_invalid' });
  });
});

describe('the storage format', () => {
  it('keeps the text of code and links, and drops parameters', () => {
    const storage =
      '<ac:structured-macro ac:name="code"><ac:parameter ac:name="language">js</ac:parameter>' +
      '<ac:plain-text-body><![CDATA[if (a < b && c) {}]]></ac:plain-text-body></ac:structured-macro>' +
      '<ac:link><ri:page ri:content-title="Other"/><ac:plain-text-link-body><![CDATA[see there]]></ac:plain-text-link-body></ac:link>';
    const html = storageToHtml('A <title>', storage);
    expect(html).toContain('<h1>A &lt;title&gt;</h1>');
    expect(html).toContain('<pre>if (a &lt; b &amp;&amp; c) {}</pre>');
    expect(html).toContain('see there');
    expect(html).not.toContain('js');
    expect(html).not.toContain('CDATA');
  });

  it('shows what readers see of lozenges, dates and links without a text', () => {
    const html = storageToHtml(
      'x',
      '<p><ac:structured-macro ac:name="status"><ac:parameter ac:name="colour">Green</ac:parameter>' +
        '<ac:parameter ac:name="title">APPROVED</ac:parameter></ac:structured-macro> until ' +
        '<time datetime="2026-03-01" /> as in <ac:link><ri:page ri:space-key="X" ri:content-title="Rules &amp; more" /></ac:link>' +
        '<ac:link ac:anchor="a"><ri:attachment ri:filename="b.pdf"/></ac:link></p>',
    );
    expect(html).toContain('<strong>APPROVED</strong>');
    expect(html).toContain('2026-03-01');
    expect(html).toContain('as in Rules &amp; more');
    expect(html).not.toContain('Green');
  });

  it('takes time in the order of the length of hostile texts', () => {
    for (const part of [
      '<![CDATA[',
      '<ac:parameter',
      '<ac:parameter>',
      '<ac:plain-text-body ',
      '<ac:task-id>',
      '<ac:link><ri:page ',
      '<ac:link> ',
      '<time datetime="',
      ']]>',
    ]) {
      const began = performance.now();
      storageToHtml('x', part.repeat(300_000));
      expect(performance.now() - began).toBeLessThan(3_000);
    }
  });
});
