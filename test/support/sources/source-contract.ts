import { afterEach, describe, expect, it } from 'vitest';
import { gzipSync } from 'node:zlib';
import type { SourceProvider } from '#adapters/sources/provider.ts';
import type { Source, SourceFailureCode } from '#domain/knowledge/connectors/source.ts';
import type { Interference } from './http-fake.ts';
import { expectNarrowed } from './narrowed-scope.ts';
import { listAll, openSource } from './open-source.ts';
import { SourceModel } from './source-model.ts';
import type { SourceServer } from './source-server.ts';

export interface FakeSource extends SourceServer {
  origin: string;
  interfere(with_: Interference | null): void;
}

export interface ContractOptions<Server extends FakeSource> {
  provider: SourceProvider;
  start(): Promise<Server>;
  /** Members of a scope that leaves out some documents, `drafts/c.md` at least. */
  narrower: (server: Server) => Record<string, unknown>;
  /** The name of `put` in what a document is listed as; the whole by default. */
  nameIn?: (listed: string) => string;
  /** Documents of a page of the provider. */
  pageSize: number;
  /** A content that is longer than 2,000 bytes is refused by this provider before it is read to its end. */
  hasLongContents?: boolean;
  /** What was changed just now has no version that can be relied on: the next run reads it again. */
  readsRecentAgain?: boolean;
  /** Documents of the large listing. */
  many?: number;
}

const oddNames = [
  'Bericht über Öl.md',
  'отчёт.md',
  '报告.md',
  '報告書.md',
  '보고서.md',
  'تقرير.md',
  'דוח.md',
  'รายงาน.md',
  'रिपोर्ट.md',
  'αναφορά.md',
  '100% sure? #1 + "two" \'three\' & <four>.md',
  'e\u0301le\u0300ve.md',
  '🦊 fox 👩‍👩‍👧.md',
  'dots...',
  'a%2Fb%00.md',
  'deep/er/still/name.md',
];

/** What every source over HTTP does, against a server of its own. */
export function describeSource<Server extends FakeSource>(
  title: string,
  options: ContractOptions<Server>,
): void {
  const { provider, pageSize, nameIn = (listed) => listed } = options;
  describe(title, () => {
    let server: Server;
    const opened: Source[] = [];
    const open = async (target: FakeSource = server) => {
      const source = await openSource(provider, target);
      opened.push(source);
      return source;
    };
    const begin = async () => (server = await options.start());
    afterEach(async () => {
      for (const source of opened.splice(0)) await source.close?.();
      await server.close();
    });
    const put = async (files: Record<string, string>) => {
      for (const [name, text] of Object.entries(files)) await server.put(name, text);
    };
    const agrees = (model: SourceModel, files: ReadonlyMap<string, string> | Record<string, string>) => {
      const wanted = files instanceof Map ? [...(files as Map<string, string>)] : Object.entries(files);
      const found = new Map(model.contents().map(([name, text]) => [nameIn(name), text]));
      expect([...found.keys()].sort()).toEqual(wanted.map(([name]) => name).sort());
      for (const [name, text] of wanted) expect(found.get(name)).toContain(text);
    };

    it('lists an empty source completely', async () => {
      await begin();
      const listing = await listAll(await open());
      expect(listing).toMatchObject({ documents: [], gone: [], scope: 'everything', truncated: false });
    });

    it('checks, lists and reads what is there, and then only what has changed, was renamed or deleted', async () => {
      await begin();
      await put({ 'a.md': 'alpha one', 'folder/b.md': 'beta one', 'c.md': 'gamma one' });
      const model = new SourceModel();
      await (await open()).check(AbortSignal.timeout(10_000));
      await model.sync(await open());
      agrees(model, { 'a.md': 'alpha one', 'folder/b.md': 'beta one', 'c.md': 'gamma one' });
      const { read } = model;
      await model.sync(await open());
      if (options.readsRecentAgain !== true) expect(model.read).toBe(read);
      agrees(model, { 'a.md': 'alpha one', 'folder/b.md': 'beta one', 'c.md': 'gamma one' });
      await server.put('a.md', 'alpha two');
      await model.sync(await open());
      agrees(model, { 'a.md': 'alpha two', 'folder/b.md': 'beta one', 'c.md': 'gamma one' });
      await server.move('folder/b.md', 'folder/renamed.md');
      await model.sync(await open());
      agrees(model, { 'a.md': 'alpha two', 'folder/renamed.md': 'beta one', 'c.md': 'gamma one' });
      await server.remove('c.md');
      await model.sync(await open());
      agrees(model, { 'a.md': 'alpha two', 'folder/renamed.md': 'beta one' });
      await server.remove('a.md');
      await server.remove('folder/renamed.md');
      await model.sync(await open());
      agrees(model, {});
    });

    it('does not say of a document outside of a narrower scope that it exists', async () => {
      await begin();
      await put({ 'a.md': 'alpha', 'folder/b.md': 'beta', 'drafts/c.md': 'gamma' });
      await expectNarrowed(provider, server, options.narrower(server));
    });

    it('keeps names in many scripts and with odd characters', async () => {
      await begin();
      const files = Object.fromEntries(oddNames.map((name, at) => [name, `content ${at} of it`]));
      await put(files);
      const model = new SourceModel();
      await model.sync(await open());
      agrees(model, files);
      const [first] = model.copies.keys();
      expect(Buffer.byteLength(first ?? '')).toBeLessThanOrEqual(2_000);
      expect(await (await open()).exists(first ?? '', AbortSignal.timeout(10_000))).toBe(true);
    });

    it('pages at every boundary', async () => {
      for (const count of [1, pageSize - 1, pageSize, pageSize + 1]) {
        await begin();
        for (let at = 0; at < count; at += 1) await server.put(`n${at}.md`, `text ${at}`);
        const listing = await listAll(await open());
        expect(new Set(listing.documents.map(({ ref }) => ref)).size).toBe(count);
        expect(listing).toMatchObject({ truncated: false, scope: 'everything' });
        if (count !== pageSize + 1) await server.close();
      }
    });

    it('lists a thousand documents, none twice', async () => {
      await begin();
      const count = options.many ?? 1_050;
      for (let at = 0; at < count; at += 1) await server.put(`n${at}.md`, `text ${at}`);
      const listing = await listAll(await open());
      expect(listing.documents).toHaveLength(count);
      expect(new Set(listing.documents.map(({ ref }) => ref)).size).toBe(count);
    });

    it('misses no document while others are changed and added during a listing', async () => {
      await begin();
      const names = Array.from({ length: 2 * pageSize + 1 }, (_, n) => `n${n}.md`);
      for (const name of names) await server.put(name, `text of ${name}`);
      const source = await open();
      const listed: string[] = [];
      const listPage = async (cursor: string | null) => {
        const page = await source.list({ cursor, checkpoint: null }, AbortSignal.timeout(60_000));
        listed.push(...page.documents.map(({ name }) => nameIn(name)));
        return page.next;
      };
      let next = await listPage(null);
      expect(listed).not.toEqual([]);
      await server.put(listed[0]!, 'changed meanwhile');
      await server.put('added.md', 'added meanwhile');
      while (next !== null) next = await listPage(next);
      expect(names.filter((name) => !listed.includes(name))).toEqual([]);
    });

    it('says that a refused credential must be renewed, and works with the new one', async () => {
      await begin();
      await server.put('a.md', 'alpha');
      const old = await open();
      const [a] = (await listAll(old)).documents;
      const renewed = await server.renewCredential!();
      const signal = AbortSignal.timeout(20_000);
      for (const asked of [
        () => old.check(signal),
        () => old.list({ cursor: null, checkpoint: null }, signal),
        () => old.fetch({ ref: a!.ref, version: null, mediaType: a!.mediaType, maxBytes: 2_000 }, signal),
        () => old.exists(a!.ref, signal),
      ]) {
        await expect(asked()).rejects.toMatchObject({ name: 'SourceFailure', code: 'auth_failed' });
      }
      const { origin } = server.credential!;
      const source = await openSource(provider, { ...server, credential: { origin, value: renewed } });
      opened.push(source);
      expect((await listAll(source)).documents).toHaveLength(1);
    });

    it('says that a stopped server is unreachable, and reads it when it is back', async () => {
      await begin();
      await server.put('a.md', 'alpha');
      const source = await open();
      await source.check(AbortSignal.timeout(10_000));
      await server.stop();
      const began = Date.now();
      await expect(listAll(source)).rejects.toMatchObject({ code: 'source_unreachable' });
      await expect(source.check(AbortSignal.timeout(30_000))).rejects.toMatchObject({
        code: 'source_unreachable',
      });
      expect(Date.now() - began).toBeLessThan(12_000);
      await server.start();
      expect((await listAll(await open())).documents).toHaveLength(1);
    });

    it('ends with its signal while a server is silent', async () => {
      await begin();
      const source = await open();
      server.interfere(() => true);
      const began = Date.now();
      await expect(
        source.list({ cursor: null, checkpoint: null }, AbortSignal.timeout(300)),
      ).rejects.toThrow();
      expect(Date.now() - began).toBeLessThan(3_000);
      server.interfere(null);
    });

    const answers: [what: string, code: SourceFailureCode, interference: Interference][] = [
      ['401', 'auth_failed', (_, response) => plain(response, 401)],
      ['403', 'auth_failed', (_, response) => plain(response, 403)],
      ['404', 'scope_invalid', (_, response) => plain(response, 404)],
      ['429', 'rate_limited', (_, response) => plain(response, 429, { 'retry-after': '7' })],
      ['500', 'source_unreachable', (_, response) => plain(response, 500)],
      ['503 with Retry-After', 'rate_limited', (_, response) => plain(response, 503, { 'retry-after': '7' })],
      [
        'a page of HTML',
        'source_invalid',
        (_, response) => plain(response, 200, { 'content-type': 'text/html' }),
      ],
      ['JSON that is broken', 'source_invalid', (_, response) => json(response, '{"results": [')],
      ['JSON of another kind', 'source_invalid', (_, response) => json(response, '[1, 2]')],
      ['a connection that is cut', 'source_unreachable', (_, response) => cut(response)],
      ['a wrong length', 'source_unreachable', (_, response) => shortened(response)],
      ['a gzip bomb', 'source_invalid', (_, response) => bomb(response)],
    ];
    it.each(answers)('takes %s as %s', async (_, code, interference) => {
      await begin();
      const source = await open();
      server.interfere(interference);
      const failure = await source.list({ cursor: null, checkpoint: null }, AbortSignal.timeout(60_000)).then(
        () => null,
        (error: unknown) => error,
      );
      expect(failure).toMatchObject({ name: 'SourceFailure', code });
      if (code === 'rate_limited') expect(failure).toMatchObject({ retryAfterMs: 7_000 });
      server.interfere(null);
      // The failure leaves the source usable.
      expect((await listAll(source)).documents).toEqual([]);
    });

    it.each(['http://127.0.0.1:9/elsewhere', 'http://169.254.169.254/latest/meta-data', ''])(
      'does not follow a redirect to %s',
      async (location) => {
        await begin();
        const source = await open();
        let asked = 0;
        server.interfere((request, response) => {
          asked += 1;
          response.writeHead(302, { location: location === '' ? request.url : location }).end();
          return true;
        });
        const failure = await source
          .list({ cursor: null, checkpoint: null }, AbortSignal.timeout(20_000))
          .then(
            () => null,
            (error: { code: string }) => error.code,
          );
        expect(failure).toMatch(/^(scope|source)_invalid$/);
        expect(asked).toBeLessThan(15);
        server.interfere(null);
      },
    );

    it('reads no document that is too large to its end', async () => {
      await begin();
      await server.put('large.md', 'many words '.repeat(50_000));
      const source = await open();
      const [large] = (await listAll(source)).documents;
      const asked = { ref: large!.ref, version: null, mediaType: large!.mediaType, maxBytes: 2_000 };
      expect(await source.fetch(asked, AbortSignal.timeout(10_000))).toEqual({
        kind: 'skipped',
        code: 'too_large',
      });
    });

    it('says of a document that has gone meanwhile that it is gone', async () => {
      await begin();
      await server.put('a.md', 'alpha');
      const source = await open();
      const [a] = (await listAll(source)).documents;
      await server.remove('a.md');
      const asked = { ref: a!.ref, version: null, mediaType: a!.mediaType, maxBytes: 2_000 };
      expect(await source.fetch(asked, AbortSignal.timeout(10_000))).toEqual({ kind: 'gone' });
      expect(await source.exists(a!.ref, AbortSignal.timeout(10_000))).toBe(false);
    });

    it('agrees with the source after random changes, moves and deletions', async () => {
      await begin();
      const random = numbers(20_251_130);
      const files = new Map<string, string>();
      const model = new SourceModel();
      let made = 0;
      for (let round = 0; round < 12; round += 1) {
        for (let change = random(14); change > 0; change -= 1) {
          const names = [...files.keys()];
          const name = names[random(names.length || 1)];
          const kind = name === undefined ? 0 : random(4);
          if (kind === 0 || name === undefined) {
            made += 1;
            files.set(`f${random(3)}/n${made}.md`, `words ${made}`);
            await server.put([...files.keys()].at(-1)!, `words ${made}`);
          } else if (kind === 1) {
            files.set(name, `changed ${round} ${change}`);
            await server.put(name, files.get(name)!);
          } else if (kind === 2) {
            made += 1;
            files.set(`moved/n${made}.md`, files.get(name)!);
            files.delete(name);
            await server.move(name, `moved/n${made}.md`);
          } else {
            files.delete(name);
            await server.remove(name);
          }
        }
        await model.sync(await open());
        agrees(model, files);
      }
    });
  });
}

type Response = Parameters<Interference>[1];

function plain(response: Response, status: number, headers: Record<string, string> = {}): true {
  response.writeHead(status, headers).end('<html>no</html>');
  return true;
}

function json(response: Response, body: string): true {
  response.writeHead(200, { 'content-type': 'application/json' }).end(body);
  return true;
}

function cut(response: Response): true {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.write('{"results": [');
  setTimeout(() => response.destroy(), 20);
  return true;
}

function shortened(response: Response): true {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
  response.write('{"results": [');
  setTimeout(() => response.destroy(), 20);
  return true;
}

const packed = gzipSync(Buffer.alloc(120 * 1_048_576, ' '), { level: 1 });

function bomb(response: Response): true {
  response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }).end(packed);
  return true;
}

/** Numbers below a bound that are the same in each run. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}
