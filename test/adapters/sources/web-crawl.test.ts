import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AnswerLimits } from '#adapters/egress/answer-limits.ts';
import { scanPage } from '#adapters/sources/web/scan-page.ts';
import { webProvider } from '#adapters/sources/web/provider.ts';
import type { Source } from '#domain/knowledge/connectors/source.ts';
import { attackStrings, expectLinear } from '#test/support/growth.ts';
import { maxPause } from '#test/support/max-pause.ts';
import { listAll, openSource } from '#test/support/sources/open-source.ts';
import { pageOf, startWebServer, type WebServer } from '#test/support/sources/web-server.ts';

const signal = AbortSignal.timeout(600_000);

let server: WebServer;
beforeEach(async () => {
  server = await startWebServer({ mode: 'crawl' });
});
afterEach(() => server.close());

const open = (scope: Record<string, unknown> = {}, limits: Partial<AnswerLimits> = {}): Promise<Source> =>
  openSource(webProvider, { ...server, scopeConfig: { ...server.scopeConfig, ...scope } }, '', limits);
const namesOf = async (source: Source) => (await listAll(source)).documents.map(({ name }) => name);
const page = (path: string, links: readonly string[], head = '') =>
  server.routes.set(path, (_, response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end(pageOf(links, head)),
  );
const redirect = (path: string, location: string) =>
  server.routes.set(path, (_, response) => void response.writeHead(301, { location }).end());

describe('a crawl', () => {
  it('lists pages with their contents, and other documents without', async () => {
    await server.put('a.html', '<a href="b.md">b</a>');
    await server.put('b.md', 'text');
    const source = await open();
    await source.check(signal);
    const { documents, scope, truncated } = await listAll(source);
    expect(documents.map(({ name, mediaType, content }) => [name, mediaType, content !== undefined])).toEqual(
      [
        ['index.html', 'text/html', true],
        ['a.html', 'text/html', true],
        ['b.md', 'text/markdown', false],
      ],
    );
    expect({ scope, truncated }).toEqual({ scope: 'everything', truncated: false });
    const [, a] = documents;
    const fetched = await source.fetch(
      { ref: a!.ref, version: a!.version, mediaType: null, maxBytes: 100 },
      signal,
    );
    expect(fetched).toEqual({ kind: 'unchanged' });
    await server.remove('b.md');
    expect(await namesOf(source)).toEqual(['index.html', 'a.html']);
    expect(await source.exists(`${server.origin}/b.md`, signal)).toBe(false);
  });

  it('visits each address once, whatever the links look like, and stays on its hosts', async () => {
    const { origin } = server;
    page('/', [
      '#top',
      '/a#x',
      'a',
      `${origin}/a`,
      '?',
      './b/../a',
      'https://elsewhere.example/',
      'http://10.0.0.1/',
    ]);
    page('/?', []);
    page('/a', [
      'mailto:a@example.org',
      'javascript:x()',
      '//elsewhere.example/x',
      `http://user:secret@127.0.0.1/`,
      '/',
    ]);
    expect(await namesOf(await open())).toEqual(['index.html', 'a', 'index.html']);
    expect(server.paths.toSorted()).toEqual(['/', '/?', '/a', '/robots.txt']);
  });

  it('follows links as deep as the scope says, and only to what it takes', async () => {
    page('/', ['/docs/1', '/blog/1']);
    page('/docs/1', ['/docs/2', '/docs/private/x']);
    page('/docs/2', ['/docs/3']);
    page('/docs/3', []);
    const scope = { include: ['docs/**'], exclude: ['docs/private/**'] };
    expect(await listAll(await open({ ...scope, max_depth: 2 }))).toMatchObject({
      documents: [{ name: 'docs/1' }, { name: 'docs/2' }],
      truncated: false,
    });
    expect(await namesOf(await open(scope))).toEqual(['docs/1', 'docs/2', 'docs/3']);
    expect(server.paths).not.toContain('/blog/1');
    expect(server.paths).not.toContain('/docs/private/x');
  });

  it.each([0, 1, 99, 100, 250])('lists a site of %i documents, each once', async (count) => {
    for (let at = 0; at < count; at += 1) {
      await server.put(`${at}.md`, '');
    }
    const { documents } = await listAll(await open());
    expect(new Set(documents.map(({ ref }) => ref)).size).toBe(count + 1);
    expect(documents).toHaveLength(count + 1);
  });

  it('continues from each cursor in another process', async () => {
    for (let at = 0; at < 250; at += 1) {
      await server.put(`${at}.html`, pageOf(['/0.html', '/1.html']));
    }
    const found: string[] = [];
    let cursor: string | null = null;
    do {
      const listed = await (await open()).list({ cursor, checkpoint: null }, signal);
      found.push(...listed.documents.map(({ ref }) => ref));
      cursor = listed.next;
    } while (cursor !== null);
    expect(found).toHaveLength(251);
    expect(new Set(found).size).toBe(251);
    await expect((await open()).list({ cursor: 'x', checkpoint: null }, signal)).rejects.toMatchObject({
      code: 'cursor_expired',
    });
  });

  it('lists a page at its canonical address alone, and one of two that name each other', async () => {
    const canonical = (href: string) => `<link rel="canonical" href="${href}">`;
    page('/', ['/print', '/left', '/self', '/foreign']);
    page('/print', [], canonical('/real'));
    page('/real', [], canonical('/real'));
    page('/left', [], canonical('/right'));
    page('/right', [], canonical('/left'));
    page('/self', [], canonical('self#x'));
    page('/foreign', [], canonical('https://elsewhere.example/'));
    const source = await open();
    expect(await namesOf(source)).toEqual(['index.html', 'self', 'foreign', 'real', 'right']);
    expect(await source.exists(`${server.origin}/print`, signal)).toBe(false);
    expect(await source.exists(`${server.origin}/self`, signal)).toBe(true);
  });

  it.each([
    ['is not there', 404],
    ['may not be read', 403],
    ['redirects back', '/guide'],
    ['redirects to a page that names it', '/other'],
    ['redirects to another site', 'https://elsewhere.example/'],
    ['redirects in a circle', '/guide/'],
  ])('lists a page whose canonical address %s', async (_, answer) => {
    page('/', ['/guide', '/other']);
    page('/guide', ['/from-guide'], '<link rel="canonical" href="/guide/">');
    page('/other', []);
    page('/from-guide', []);
    server.routes.set('/guide/', (__, response) =>
      typeof answer === 'number'
        ? void response.writeHead(answer).end()
        : void response.writeHead(301, { location: answer }).end(),
    );
    const source = await open();
    const { documents, truncated } = await listAll(source);
    const names = documents.filter(({ mediaType }) => mediaType !== null).map(({ name }) => name);
    // Where it leads to a page that is listed, that one stands for both.
    const isOther = answer === '/other';
    expect(names.toSorted()).toEqual(
      [...(isOther ? [] : ['guide']), 'index.html', 'other', 'from-guide'].toSorted(),
    );
    expect(truncated).toBe(false);
    expect(await source.exists(`${server.origin}/guide`, signal)).toBe(!isOther);
  });

  it('lists all pages that name an address without a page, over several pages of the listing', async () => {
    const paths = Array.from({ length: 150 }, (_, at) => `/p${at}`);
    page('/', paths);
    for (const path of paths) page(path, [], '<link rel="canonical" href="/gone">');
    const found: string[] = [];
    let cursor: string | null = null;
    do {
      const listed = await (await open()).list({ cursor, checkpoint: null }, signal);
      found.push(...listed.documents.map(({ name }) => name));
      cursor = listed.next;
      if (cursor === null) expect(listed.truncated).toBe(false);
    } while (cursor !== null);
    expect(found.toSorted()).toEqual(['index.html', ...paths.map((path) => path.slice(1))].toSorted());
  });

  it('begins at a page whose canonical address is not there', async () => {
    page('/', ['/a'], '<link rel="canonical" href="/old-home">');
    page('/a', []);
    expect((await namesOf(await open())).toSorted()).toEqual(['a', 'index.html']);
  });

  it('has one page for several that name one which others lead to as well', async () => {
    page('/', ['/real', '/print?1', '/print?2', '/moved']);
    for (const path of ['/print?1', '/print?2']) page(path, [], '<link rel="canonical" href="/moved">');
    redirect('/moved', '/real');
    page('/real', []);
    expect((await namesOf(await open())).toSorted()).toEqual(['index.html', 'real']);
  });

  it('compares thousands of links with patterns beside the event loop', async () => {
    page(
      '/',
      Array.from({ length: 5_000 }, (_, at) => `/${'a'.repeat(300)}${at}`),
    );
    const source = await open({ exclude: Array(20).fill(`*${'a'.repeat(197)}b*`) as string[], max_pages: 1 });
    expect(await maxPause(() => listAll(source))).toBeLessThan(500);
  });

  it('lists the target of a redirect once, and follows none to another host', async () => {
    page('/', ['/old', '/new', '/away', '/loop', '/private']);
    redirect('/old', '/new');
    page('/new', []);
    redirect('/away', 'https://elsewhere.example/');
    redirect('/private', 'http://10.0.0.1/');
    redirect('/loop', '/loop');
    expect(await namesOf(await open())).toEqual(['index.html', 'new']);
  });

  it('begins where the start address redirects to on its host, and says so of another host or a circle', async () => {
    page('/en/', ['/en/a']);
    page('/en/a', []);
    redirect('/', '/en/');
    expect(await namesOf(await open({ include: ['en/**'] }))).toEqual(['en/index.html', 'en/a']);
    for (const location of ['https://elsewhere.example/', '/']) {
      redirect('/', location);
      await expect(listAll(await open())).rejects.toMatchObject({ code: 'scope_invalid' });
    }
  });

  it('goes to no page that robots.txt forbids, and waits between two as it asks', async () => {
    server.routes.set('/robots.txt', (_, response) =>
      response.end('User-agent: *\nDisallow: /no\nAllow: /no/but\nCrawl-delay: 0.2'),
    );
    page('/', ['/no/1', '/no/but', '/yes']);
    page('/no/but', []);
    page('/yes', []);
    const begin = Date.now();
    expect(await namesOf(await open())).toEqual(['index.html', 'no/but', 'yes']);
    expect(Date.now() - begin).toBeGreaterThanOrEqual(390);
    expect(server.paths).not.toContain('/no/1');
  });

  it('keeps what it has found when the site asks for a pause, and goes on behind it', async () => {
    page('/', ['/a', '/b', '/c']);
    page('/a', []);
    page('/c', []);
    server.routes.set('/b', (_, response) => void response.writeHead(429, { 'retry-after': '3' }).end());
    const source = await open();
    const first = await source.list({ cursor: null, checkpoint: null }, signal);
    expect(first.documents.map(({ name }) => name)).toEqual(['index.html', 'a']);
    const next = { cursor: first.next, checkpoint: null };
    await expect(source.list(next, signal)).rejects.toMatchObject({
      code: 'rate_limited',
      retryAfterMs: 3_000,
    });
    page('/b', []);
    const second = await source.list(next, signal);
    expect(second.documents.map(({ name }) => name)).toEqual(['b', 'c']);
  });

  it('lists pages that do not answer without content, and then nothing counts as deleted', async () => {
    page('/', ['/500', '/cut', '/403', '/404', '/a']);
    page('/a', []);
    server.routes.set('/500', (_, response) => void response.writeHead(500).end());
    server.routes.set('/403', (_, response) => void response.writeHead(403).end());
    server.routes.set('/cut', (_, response) => void response.destroy());
    const { documents, truncated } = await listAll(await open());
    expect(documents.map(({ name, content }) => [name, content !== undefined])).toEqual([
      ['index.html', true],
      ['500', false],
      ['cut', false],
      ['403', false],
      ['a', true],
    ]);
    expect(truncated).toBe(true);
  });

  it('fails when the site stops to answer', async () => {
    page('/', ['/1', '/2', '/3', '/4', '/5', '/6']);
    for (let at = 1; at < 7; at += 1) {
      server.routes.set(`/${at}`, (_, response) => void response.destroy());
    }
    await expect(listAll(await open())).rejects.toMatchObject({ code: 'source_unreachable' });
  });

  it('ends in a site without end, within the limits of its scope and its cursor', async () => {
    const endless: Source = await openSource(webProvider, {
      ...server,
      scopeConfig: { ...server.scopeConfig, max_pages: 300, max_depth: 50 },
    });
    const trap = (path: string) =>
      page(
        path,
        Array.from({ length: 20 }, (_, at) => `${path}/${at}${'x'.repeat(80)}`),
      );
    page('/', ['/t']);
    // Every address of the trap answers with more of them.
    const routes = server.routes;
    const get = routes.get.bind(routes);
    routes.get = (path: string) => {
      if (path.startsWith('/t') && get(path) === undefined && path.length < 1_900) trap(path);
      return get(path);
    };
    let [cursor, longest, listed]: [string | null, number, number] = [null, 0, 0];
    do {
      const found: Awaited<ReturnType<Source['list']>> = await endless.list(
        { cursor, checkpoint: null },
        signal,
      );
      cursor = found.next;
      listed += found.documents.length;
      longest = Math.max(longest, cursor?.length ?? 0);
      if (cursor === null) expect(found.truncated).toBe(true);
    } while (cursor !== null);
    expect(listed).toBe(300);
    expect(longest).toBeLessThan(1_048_576);
    expect(server.paths.length).toBeLessThan(310);
  });

  it('keeps a cursor of less than a mebibyte while pages have thousands of long links', async () => {
    const links = Array.from({ length: 5_000 }, (_, at) => `/p/${at}/${'x'.repeat(200)}`);
    page('/', links);
    const source = await open({ max_pages: 50_000 });
    const { next, truncated } = await source.list({ cursor: null, checkpoint: null }, signal);
    expect(next!.length).toBeLessThan(1_048_576);
    expect(truncated).toBe(true);
  });

  it('reads the links of the first two mebibytes of a page, which is listed without content', async () => {
    const long = `${pageOf(['/a'])}${'<p>text</p>'.repeat(300_000)}`;
    server.routes.set(
      '/',
      (_, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end(long),
    );
    page('/a', []);
    const { documents } = await listAll(await open());
    expect(documents.map(({ name, content }) => [name, content !== undefined])).toEqual([
      ['index.html', false],
      ['a', true],
    ]);
  });
});

describe('the links of a page', () => {
  it('are found as browsers find them', () => {
    const html = `<BASE href="/x/"><a HREF='1'>a</a><a download class=y href = "2&amp;3">b</a><a href=4>c</a>
      <!-- <a href="no1"> --><script>"<a href='no2'>"</script><area href="5"><a title="<a href='no3'>" href="6">
      <p data-href="no4"><a name="no5"></a><a href=" 7 "><link rel="alternate canonical" href="8"><a href="9"/><a/href="10">`;
    expect(scanPage(html)).toEqual({
      base: '/x/',
      canonical: '8',
      links: ['1', '2&3', '4', '5', '6', '7', '9', '10'],
    });
    for (const broken of [
      '<',
      '<a',
      '<a href',
      '<a href=',
      '<a href="x',
      '<!-- <a href="1">',
      '<script><a href="1">',
      '</',
      '<>',
    ]) {
      expect(scanPage(broken).links).toEqual([]);
    }
    expect(scanPage('<a href="x">'.repeat(9_000)).links).toHaveLength(5_000);
  });

  it('are found in linear time', () => {
    const own = {
      '<a ': 0,
      '<a href="': 0,
      '<title>': 0,
      '<title></': 0,
      '<!-->': 0,
      '<a href=x ': 0,
      '</a': 0,
    };
    const makers = {
      ...attackStrings,
      ...Object.fromEntries(
        Object.keys(own).map((part) => [part, (size: number) => part.repeat(size / part.length)]),
      ),
    };
    for (const [name, make] of Object.entries(makers)) {
      expectLinear(name, { make, work: scanPage, size: 100_000 });
    }
  });
});
