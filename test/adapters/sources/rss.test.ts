import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AnswerLimits } from '#adapters/egress/answer-limits.ts';
import { rssProvider } from '#adapters/sources/rss/provider.ts';
import type { Source } from '#domain/knowledge/connectors/source.ts';
import { unusualNames } from '#test/support/sources/file-names.ts';
import { listAll, openSource } from '#test/support/sources/open-source.ts';
import { startRssServer, type RssServer } from '#test/support/sources/rss-server.ts';

const signal = AbortSignal.timeout(600_000);

let server: RssServer;
beforeEach(async () => {
  server = await startRssServer();
});
afterEach(() => server.close());

const open = (scope: Record<string, unknown> = {}, limits: Partial<AnswerLimits> = {}): Promise<Source> =>
  openSource(rssProvider, { ...server, scopeConfig: { ...server.scopeConfig, ...scope } }, '', limits);
const feed = (path: string, content: string | Uint8Array, status = 200, headers = {}) => {
  server.routes.set(path, (_, response) => void response.writeHead(status, headers).end(content));
  return `${server.origin}${path}`;
};
const textOf = ({ content }: { content?: Uint8Array }) => Buffer.from(content!).toString();
const rss = (items: string) =>
  `<rss version="2.0"><channel><title>T</title><description>d</description>${items}</channel></rss>`;

describe('a feed', () => {
  it('lists its entries with their contents, and deletes nothing', async () => {
    await server.put('First & <only>', '<p>one</p>');
    const source = await open();
    await source.check(signal);
    const listing = await listAll(source);
    expect(listing).toMatchObject({ scope: 'changes', gone: [], truncated: false });
    expect(listing.documents).toMatchObject([
      {
        name: 'News/First & <only>.html',
        mediaType: 'text/html',
        url: `${server.origin}/First%20%26%20%3Conly%3E`,
      },
    ]);
    expect(textOf(listing.documents[0]!)).toContain('<h1>First &amp; &lt;only&gt;</h1><p>one</p>');
    expect(await source.exists('anything', signal)).toBe(true);
  });

  it('is not sent again while it is unchanged, and then with a version for each entry', async () => {
    await server.put('a', 'one');
    await server.put('b', 'two');
    const first = await listAll(await open());
    const again = await listAll(await open(), first.checkpoint);
    expect(again).toMatchObject({ documents: [], pages: 1, checkpoint: first.checkpoint, scope: 'changes' });
    await server.put('a', 'changed');
    await server.put('c', 'new');
    const changed = await listAll(await open(), first.checkpoint);
    expect(changed.checkpoint).not.toBe(first.checkpoint);
    const known = new Set(first.documents.map(({ version }) => version));
    const unknown = changed.documents.filter(({ version }) => !known.has(version)).map(({ name }) => name);
    expect(unknown).toEqual(['News/c.html', 'News/a.html']);
    expect((await listAll(await open(), 'x')).documents).toHaveLength(3);
  });

  it('keeps what it no longer has, and fetches what it has', async () => {
    await server.put('a', 'one');
    const source = await open();
    const [document] = (await listAll(source)).documents;
    const fetchOf = async (version: string | null, maxBytes = 10_000) =>
      (await open()).fetch({ ref: document!.ref, version, mediaType: null, maxBytes }, signal);
    expect(await fetchOf(null)).toEqual({
      kind: 'content',
      content: document!.content,
      mediaType: 'text/html',
      version: document!.version,
    });
    expect(await fetchOf(document!.version)).toEqual({ kind: 'unchanged' });
    expect(await fetchOf(null, 10)).toEqual({ kind: 'skipped', code: 'too_large' });
    await server.remove('a');
    expect(await listAll(await open())).toMatchObject({ documents: [], gone: [], scope: 'changes' });
    expect(await fetchOf(document!.version)).toEqual({ kind: 'unchanged' });
    expect(await fetchOf(null)).toEqual({ kind: 'skipped', code: 'not_a_document' });
  });

  it.each([0, 1, 99, 100, 101, 200, 1_100])('lists %i entries, each once', async (count) => {
    const items = Array.from({ length: count }, (_, at) => `<item><guid>${at}</guid><title>t</title></item>`);
    const url = feed('/many.xml', rss(items.join('')));
    const { documents, pages } = await listAll(await open({ feed_urls: [url] }));
    expect(new Set(documents.map(({ ref }) => ref)).size).toBe(count);
    expect(documents).toHaveLength(count);
    expect(pages).toBe(Math.floor(count / 100) + 1 - (count > 0 && count % 100 === 0 ? 1 : 0));
  });

  it('continues from each cursor in another process, over several feeds', async () => {
    const urls = Array.from({ length: 14 }, (_, at) =>
      feed(
        `/${at}.xml`,
        rss(
          '<item><guid>same</guid></item>'.repeat(2) +
            Array.from({ length: at * 9 }, (_, id) => `<item><guid>${id}</guid></item>`).join(''),
        ),
      ),
    );
    const refs: string[] = [];
    let cursor: string | null = null;
    do {
      const page = await (await open({ feed_urls: urls })).list({ cursor, checkpoint: null }, signal);
      expect(page.documents.length).toBeLessThanOrEqual(100);
      refs.push(...page.documents.map(({ ref }) => ref));
      cursor = page.next;
    } while (cursor !== null);
    expect(refs).toHaveLength(14 + 9 * 91);
    expect(new Set(refs).size).toBe(refs.length);
    await expect((await open()).list({ cursor: '{}', checkpoint: null }, signal)).rejects.toMatchObject({
      code: 'cursor_expired',
    });
  });

  it.each(unusualNames)('lists and fetches the entry %s', async (name) => {
    await server.put(name, name);
    const [document] = (await listAll(await open())).documents;
    expect(document!.name).toBe(`News/${name.replaceAll('/', '\u2215')}.html`);
    const fetched = await (
      await open()
    ).fetch({ ref: document!.ref, version: null, mediaType: null, maxBytes: 10_000 }, signal);
    expect(fetched.kind).toBe('content');
  });

  it('is read as Atom, RDF and JSON, and in an older encoding', async () => {
    const atom = feed(
      '/atom',
      `<feed xmlns="http://www.w3.org/2005/Atom"><title type="html">&lt;b&gt;Atom&lt;/b&gt;</title>
       <entry><id>1</id><title>x</title><link rel="edit" href="/edit"/><link href="/page"/><updated>2024-05-06T07:08:09Z</updated>
       <content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>a <b>b</b></p></div></content></entry>
       <entry><id>2</id><title>y</title><summary>a &lt; b</summary></entry></feed>`,
    );
    const json = feed(
      '/json',
      JSON.stringify({
        version: 'https://jsonfeed.org/version/1.1',
        title: 'J',
        items: [{ id: '1', content_text: 'a < b', url: 'javascript:x' }],
      }),
    );
    const rdf = feed(
      '/rdf',
      `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"><channel><title>R</title></channel>
       <item rdf:about="u:1"><title>r</title><link>https://example.org/r</link><description>d</description></item></rdf:RDF>`,
    );
    const old = feed(
      '/old',
      Buffer.from(
        `<?xml version="1.0" encoding="ISO-8859-1"?>${rss('<item><title>caf\u00e9</title><description>\u00fcber</description></item>')}`,
        'latin1',
      ),
    );
    const { documents } = await listAll(await open({ feed_urls: [atom, json, rdf, old] }));
    expect(documents.map(({ name, url }) => [name, url])).toEqual([
      ['Atom/x.html', `${server.origin}/page`],
      ['Atom/y.html', null],
      ['J/1.html', null],
      ['R/r.html', 'https://example.org/r'],
      ['T/caf\u00e9.html', null],
    ]);
    const texts = documents.map(textOf);
    expect(texts[0]).toContain('<h1>x</h1><p><time>2024-05-06</time></p><p>a <b>b</b></p>');
    expect(texts[1]).toContain('<p>a &lt; b</p>');
    expect(texts[2]).toContain('<p>a &lt; b</p>');
    expect(texts[3]).toContain('d</article>');
    expect(texts[4]).toContain('\u00fcber');
  });

  it('knows entries without an id, or with one that is too long, by what they say', async () => {
    const items = `<item><title>a</title></item><item><title>b</title></item><item><guid>${'x'.repeat(3_000)}</guid></item>`;
    const url = feed('/ids', rss(items));
    const refs = async () =>
      (await listAll(await open({ feed_urls: [url] }))).documents.map(({ ref }) => ref);
    const first = await refs();
    expect(new Set(first).size).toBe(3);
    expect(first.every((ref) => ref.length < 100)).toBe(true);
    expect(await refs()).toEqual(first);
  });
});

describe('a feed that fails', () => {
  it.each([
    [401, {}, { code: 'auth_failed' }],
    [403, {}, { code: 'auth_failed' }],
    [404, {}, { code: 'scope_invalid' }],
    [410, {}, { code: 'scope_invalid' }],
    [429, { 'retry-after': '5' }, { code: 'rate_limited', retryAfterMs: 5_000 }],
    [500, {}, { code: 'source_unreachable' }],
    [503, {}, { code: 'source_unreachable' }],
    [204, {}, { code: 'source_invalid' }],
    [304, {}, { code: 'source_invalid' }],
    [302, { location: '/f' }, { code: 'source_invalid' }],
    [302, { location: 'http://10.0.0.1/' }, { code: 'scope_invalid' }],
    [302, { location: 'file:///etc/passwd' }, { code: 'source_invalid' }],
  ])('with HTTP %i and %j fails as %j', async (status, headers, expected) => {
    const source = await open({ feed_urls: [feed('/f', '', status, headers)] });
    await expect(source.check(signal)).rejects.toMatchObject(expected);
    await expect(listAll(source)).rejects.toMatchObject(expected);
  });

  it.each([
    '',
    '<html>x</html>',
    '{',
    '<rss version="2.0"></rss>',
    '\0\0',
    `<feed><entry>${'<a>'.repeat(600)}`,
  ])('with a broken content is source_invalid: case %#', async (content) => {
    const source = await open({ feed_urls: [feed('/f', content)] });
    await expect(source.check(signal)).rejects.toMatchObject({ code: 'source_invalid' });
  });

  it('does not hold up the others, is tried once more, and is a failure of its own', async () => {
    let asked = 0;
    const broken = feed('/broken', '', 500);
    const answer = server.routes.get('/broken')!;
    server.routes.set('/broken', (...given) => {
      asked += 1;
      return answer(...given);
    });
    const source = await open({ feed_urls: [broken, server.feedUrl] });
    await server.put('a', 'one');
    const first = await source.list({ cursor: null, checkpoint: null }, signal);
    expect(first).toMatchObject({
      documents: [{ url: expect.anything() }],
      failures: [{ ref: broken, code: 'source_unreachable' }],
      gone: [],
      next: null,
    });
    expect(asked).toBe(2);
    expect(first.checkpoint).toContain('etag');
    // It is listed whole once it answers, while the other one has not changed.
    feed('/broken', rss('<item><title>b</title></item>'));
    const second = await source.list({ cursor: null, checkpoint: first.checkpoint }, signal);
    expect(second.documents.map(({ name }) => name)).toEqual(['T/b.html']);
    expect(second.failures).toEqual([]);
  });

  it('that has listed a part of itself before it broke is listed whole by the next run', async () => {
    const long = rss(
      '<item><title>t</title></item>'.repeat(1) +
        Array.from({ length: 150 }, (_, n) => `<item><title>n${n}</title></item>`).join(''),
    );
    const breaking = feed('/breaking', long, 200, { etag: '"1"' });
    const scope = { feed_urls: [server.feedUrl, breaking] };
    await server.put('a', 'one');
    const first = await (await open(scope)).list({ cursor: null, checkpoint: null }, signal);
    feed('/breaking', '', 404);
    const last = await (await open(scope)).list({ cursor: first.next, checkpoint: null }, signal);
    expect(last).toMatchObject({ failures: [{ ref: breaking, code: 'scope_invalid' }], next: null });
    feed('/breaking', long, 200, { etag: '"1"' });
    const next = await (await open(scope)).list({ cursor: null, checkpoint: last.checkpoint }, signal);
    expect(next.documents.length).toBe(100);
  });

  it.each([404, 410, 401, 403, 500])(
    'with HTTP %i among others stops neither them nor the connector',
    async (status) => {
      const dead = feed('/dead', '', status);
      await server.put('a', 'one');
      const source = await open({ feed_urls: [dead, server.feedUrl] });
      await source.check(signal);
      const listed = await source.list({ cursor: null, checkpoint: null }, signal);
      expect(listed).toMatchObject({ failures: [{ ref: dead }], next: null });
      expect(listed.documents).toHaveLength(1);
      const none = await open({ feed_urls: [dead, feed('/other', '', status)] });
      await expect(none.list({ cursor: null, checkpoint: null }, signal)).rejects.toMatchObject({
        code: 'source_unreachable',
      });
    },
  );

  it('fails the check with all others, as a passing failure where one of them passes', async () => {
    const [dead, gone, down] = [feed('/dead', '', 404), feed('/gone', '', 410), feed('/down', '', 500)];
    const check = async (urls: string[]) => (await open({ feed_urls: urls })).check(signal);
    await expect(check([dead, gone])).rejects.toMatchObject({ code: 'scope_invalid' });
    await expect(check([dead, gone, down])).rejects.toMatchObject({ code: 'source_unreachable' });
    // Of more feeds than a check asks for, the others may answer.
    const more = [dead, gone, feed('/third', '', 404), server.feedUrl];
    await expect(check(more)).rejects.toMatchObject({ code: 'source_unreachable' });
  });

  it('is unreachable when its server is silent, breaks off, or is not there', async () => {
    server.routes.set('/silent', () => {});
    server.routes.set('/cut', (_, response) => {
      response.writeHead(200, { 'content-length': '1000' }).write('<rss>', () => response.destroy());
    });
    for (const path of ['silent', 'cut']) {
      const source = await open({ feed_urls: [`${server.origin}/${path}`] }, { headersMs: 300, idleMs: 300 });
      await expect(source.check(signal)).rejects.toMatchObject({ code: 'source_unreachable' });
    }
    await server.stop();
    await expect(listAll(await open())).rejects.toMatchObject({ code: 'source_unreachable' });
    await server.start();
    await listAll(await open());
  });

  it('is too large beyond 8 MiB, and below takes its time beside the event loop', async () => {
    const item = `<item><title>t</title><description>${'lorem &lt;b&gt;ipsum '.repeat(300)}</description></item>`;
    const large = feed('/large', rss(item.repeat(1_300)));
    const source = await open({ feed_urls: [large] });
    let [last, longest] = [performance.now(), 0];
    const timer = setInterval(() => {
      longest = Math.max(longest, performance.now() - last);
      last = performance.now();
    }, 5);
    await source.check(signal);
    clearInterval(timer);
    expect(longest).toBeLessThan(1_000);
    const over = await open({ feed_urls: [feed('/over', rss(item.repeat(1_700)))] });
    await expect(over.check(signal)).rejects.toMatchObject({ code: 'source_invalid' });
  });

  it('expands no entities of its own', async () => {
    const bomb = `<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "${'&a;'.repeat(10)}"><!ENTITY c "${'&b;'.repeat(10)}"><!ENTITY f SYSTEM "file:///etc/passwd">]>`;
    const url = feed(
      '/bomb',
      `<?xml version="1.0"?>${bomb}${rss('<item><title>t</title><description>&c;&f;</description></item>')}`,
    );
    const listed = await listAll(await open({ feed_urls: [url] })).catch((error: unknown) => error);
    expect(JSON.stringify(listed)).not.toContain('aaaaaaaaaaaa');
    expect(JSON.stringify(listed)).not.toContain('root:');
  });

  it.each([{ feed_urls: [] }, { feed_urls: ['x'] }, { feed_urls: Array(51).fill('https://a.example/') }])(
    'has a scope that is refused: %j',
    (scope) => {
      expect(() => open(scope)).toThrow(expect.objectContaining({ code: 'invalid_request' }));
    },
  );

  it('has a scope whose unknown fields are refused', () => {
    expect(() => open({ other: 1 })).toThrow(expect.objectContaining({ code: 'unknown_parameter' }));
  });
});
