import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { s3Provider } from '#adapters/sources/s3/provider.ts';
import type { Source } from '#domain/knowledge/connectors/source.ts';
import { expectEmpty } from '../../support/sources/expect-empty.ts';
import { expectNarrowed } from '../../support/sources/narrowed-scope.ts';
import { listAll, openSource } from '../../support/sources/open-source.ts';
import { oddNames } from '../../support/sources/odd-names.ts';
import { startS3Server, withoutS3, type S3Server } from '../../support/sources/s3-server.ts';

const signal = AbortSignal.timeout(600_000);
const provider = s3Provider as Parameters<typeof openSource>[0];
const maxBytes = 1_000_000;

const missing = await withoutS3();

describe.skipIf(missing !== null)(`a bucket${missing === null ? '' : `: ${missing}`}`, () => {
  let server: S3Server;
  let source: Source;
  const names = async () => (await listAll(source)).documents.map(({ ref }) => ref).toSorted();
  const fetchText = async (ref: string, version: string | null = null) => {
    const fetched = await source.fetch({ ref, version, mediaType: null, maxBytes }, signal);
    return fetched.kind === 'content' ? Buffer.from(fetched.content).toString() : fetched;
  };

  beforeAll(async () => {
    server = await startS3Server();
    source = await openSource(provider, server);
  });
  afterAll(() => server?.close());
  beforeEach(async () => {
    server.intercept(null);
    for (const ref of await names()) await server.remove(ref);
  });

  test('an empty bucket has no documents, and the check passes', async () => {
    await expectEmpty(source, signal);
  });

  test('a document is listed with its size and version, and fetched', async () => {
    await server.put('folder/a.md', '# A');
    const [document] = (await listAll(source)).documents;
    expect(document).toMatchObject({ ref: 'folder/a.md', name: 'folder/a.md', byteSize: 3, url: null });
    const fetched = await source.fetch(
      { ref: 'folder/a.md', version: null, mediaType: null, maxBytes },
      signal,
    );
    expect(fetched).toMatchObject({
      kind: 'content',
      content: Buffer.from('# A'),
      version: document?.version,
    });
  });

  test('an unchanged document keeps its version; a changed one gets another', async () => {
    await server.put('a.md', 'first');
    const [before] = (await listAll(source)).documents;
    expect((await listAll(source)).documents).toEqual([before]);
    expect(await fetchText('a.md', before?.version)).toEqual({ kind: 'unchanged' });
    await server.put('a.md', 'second');
    const [after] = (await listAll(source)).documents;
    expect(after?.version).not.toBe(before?.version);
    expect(await fetchText('a.md', before?.version)).toBe('second');
  });

  test('a moved document has another reference, and a deleted one is gone', async () => {
    await server.put('a.md', 'text');
    await server.move('a.md', 'b/ä c.md');
    expect(await names()).toEqual(['b/ä c.md']);
    expect(await source.exists('a.md', signal)).toBe(false);
    expect(await source.exists('b/ä c.md', signal)).toBe(true);
    await server.remove('b/ä c.md');
    expect(await names()).toEqual([]);
    expect(await fetchText('b/ä c.md')).toEqual({ kind: 'gone' });
  });

  test.each(oddNames)('the key %j is listed and fetched', async (name) => {
    await server.put(`d/${name}`, name);
    expect(await names()).toEqual([`d/${name}`]);
    expect(await fetchText(`d/${name}`)).toBe(name);
    expect(await source.exists(`d/${name}`, signal)).toBe(true);
  });

  test('a document over the limit is skipped without being read to its end', async () => {
    await server.put('large.txt', 'x'.repeat(5_000_000));
    await server.put('exact.txt', 'x'.repeat(maxBytes));
    expect(await fetchText('large.txt')).toEqual({ kind: 'skipped', code: 'too_large' });
    expect(await fetchText('exact.txt')).toHaveLength(maxBytes);
  });

  test('a stopped server is unreachable within a bound, and works again when it is back', async () => {
    await server.put('a.md', 'text');
    await server.stop();
    const began = Date.now();
    await expect(listAll(source)).rejects.toMatchObject({ code: 'source_unreachable' });
    expect(Date.now() - began).toBeLessThan(10_000);
    await server.start();
    expect(await names()).toEqual(['a.md']);
  });

  test('a refused access key fails the authentication until it is renewed', async () => {
    await server.put('a.md', 'text');
    const value = await server.renewCredential();
    await expect(source.check(signal)).rejects.toMatchObject({
      name: 'SourceFailure',
      code: 'auth_failed',
    });
    await expect(fetchText('a.md')).rejects.toMatchObject({ code: 'auth_failed' });
    server.credential = { origin: server.allowedOrigins[0] ?? '', value };
    source = await openSource(provider, server);
    expect(await names()).toEqual(['a.md']);
  });

  test('a bucket that does not exist is an invalid scope', async () => {
    const other = { ...server, scopeConfig: { ...server.scopeConfig, bucket: 'no-such-bucket' } };
    const opened = await openSource(provider, other);
    await expect(opened.check(signal)).rejects.toMatchObject({ code: 'scope_invalid' });
  });

  test('the scope lists what its prefix and patterns select', async () => {
    for (const name of ['docs/a.md', 'docs/b.txt', 'docs/drafts/c.md', 'other/d.md']) {
      await server.put(name, name);
    }
    const scopeConfig = {
      ...server.scopeConfig,
      prefix: 'docs/',
      include: ['*.md'],
      exclude: ['drafts/'],
    };
    const { documents } = await listAll(await openSource(provider, { ...server, scopeConfig }));
    expect(documents.map(({ ref, name }) => [ref, name])).toEqual([['docs/a.md', 'a.md']]);
  });

  test('what a narrower scope leaves out does not exist for it, and is gone', async () => {
    for (const name of ['docs/a.md', 'docs/b.txt', 'docs/drafts/c.md', 'other/d.md']) {
      await server.put(name, name);
    }
    for (const narrower of [{ prefix: 'docs/' }, { include: ['*.txt'] }, { exclude: ['docs/drafts/'] }]) {
      await expectNarrowed(provider, server, narrower);
    }
    const scopeConfig = { ...server.scopeConfig, prefix: 'docs/' };
    const narrow = await openSource(provider, { ...server, scopeConfig });
    const asked = { ref: 'other/d.md', version: null, mediaType: null, maxBytes };
    expect(await narrow.fetch(asked, signal)).toEqual({ kind: 'gone' });
  });

  test('pages end where the number of keys says', async () => {
    const put = async (from: number, to: number) => {
      for (let at = from; at < to; at += 50) {
        const some = Array.from({ length: Math.min(50, to - at) }, (_, each) => at + each);
        await Promise.all(some.map((n) => server.put(`n/${String(n).padStart(4, '0')} ä.md`, String(n))));
      }
    };
    await put(0, 999);
    expect(await listAll(source)).toMatchObject({ pages: 1, documents: { length: 999 } });
    await put(999, 1_000);
    expect(await listAll(source)).toMatchObject({ pages: 1, documents: { length: 1_000 } });
    await put(1_000, 1_001);
    const listing = await listAll(source);
    expect(listing).toMatchObject({ pages: 2, documents: { length: 1_001 } });
    expect(new Set(listing.documents.map(({ ref }) => ref)).size).toBe(1_001);
  }, 300_000);
});
