import { afterEach, describe, expect, it } from 'vitest';
import { notionProvider } from '#adapters/sources/notion/provider.ts';
import { say } from '../../support/sources/notion-blocks.ts';
import {
  database,
  dataSource,
  refusal,
  startNotion,
  teamPage,
  type NotionServer,
} from '../../support/sources/notion-server.ts';
import { listAll, openSource } from '../../support/sources/open-source.ts';
import { describeSource } from '../../support/sources/source-contract.ts';
import { SourceModel } from '../../support/sources/source-model.ts';

const nameIn = (listed: string) => listed.replace(/\.md$/, '');
describeSource('pages of Notion', {
  provider: notionProvider,
  start: () => startNotion(),
  nameIn,
  narrower: () => ({ root_pages: [teamPage] }),
  pageSize: 300,
  readsRecentAgain: true,
});
describeSource('rows of databases of Notion below a root page', {
  provider: notionProvider,
  start: () => startNotion('rows'),
  nameIn,
  narrower: () => ({ database_rows: false }),
  pageSize: 300,
  readsRecentAgain: true,
});

const brief = () => AbortSignal.timeout(20_000);
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const firstTime = { version: null, mediaType: null, maxBytes: 100_000 };
const onPage = (id: string) => ({ type: 'page_id', page_id: id });
const onBlock = (id: string) => ({ type: 'block_id', block_id: id });

describe('Notion', () => {
  let server: NotionServer;
  afterEach(() => server?.close());
  const open = (scope: object = {}) =>
    openSource(notionProvider, { ...server, scopeConfig: { ...server.scopeConfig, ...scope } });
  const namesOf = async (scope: object = {}) =>
    (await listAll(await open(scope))).documents.map(({ name }) => nameIn(name)).sort();
  const readsOf = (end: string) => server.asked.filter((each) => each.endsWith(end)).length;
  const paragraph = (text: string) => [say('paragraph', text)];

  it('describes a page with its address and the time of its last change', async () => {
    server = await startNotion();
    const { id } = server.add('Über uns', [], { edited: Date.parse('2025-03-01T10:20:42Z') });
    const { documents } = await listAll(await open());
    expect(documents).toEqual([
      {
        ref: id,
        name: 'Über uns.md',
        version: expect.stringMatching(/^2025-03-01T10:20:00\.000Z\/[0-9a-f]{16}$/),
        byteSize: null,
        mediaType: 'text/markdown',
        url: `https://www.notion.so/${id.replaceAll('-', '')}`,
      },
    ]);
  });

  it('describes pages without characters that a database refuses', async () => {
    server = await startNotion();
    const page = server.add(`x${'😀'.repeat(300)}`, []);
    server.interfere((request, response) => {
      if (request.url !== '/v1/search') return false;
      const results = [
        {
          object: 'page',
          id: page.id,
          last_edited_time: '1 Jan 2025 00:00 UTC (\0\uD800)',
          properties: { Name: { type: 'title', title: [{ plain_text: page.title }] } },
          url: 'https://www.notion.so/\0\uD800',
        },
      ];
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ results, has_more: false, next_cursor: null }));
      return true;
    });
    const [listed] = (await listAll(await open())).documents;
    for (const text of [listed!.name, listed!.version!, listed!.url!]) {
      expect(text).toBe(text.toWellFormed().replaceAll('\0', ''));
    }
    expect(listed!.name).toHaveLength(403);
  });

  describe('changes', () => {
    it('reads nothing of pages that were not edited', async () => {
      server = await startNotion();
      for (const name of ['a', 'b', 'c']) server.add(name, paragraph(name));
      server.age(hourMs);
      const model = new SourceModel();
      await model.sync(await open());
      expect(model.fetched).toBe(3);
      server.asked.length = 0;
      await model.sync(await open());
      expect(model.fetched).toBe(3);
      expect(server.asked).toEqual(['GET /users/me', 'POST /search']);
      const [copy] = [...model.copies];
      const asked = { ...firstTime, ref: copy![0], version: copy![1].version };
      expect(await (await open()).fetch(asked, brief())).toEqual({ kind: 'unchanged' });
      expect(readsOf('/children')).toBe(0);
    });

    it('sees an edit in the minute in which the page was read, and reads the page once more after it', async () => {
      server = await startNotion();
      const page = server.add('a', paragraph('first'));
      const model = new SourceModel();
      await model.sync(await open());
      const { edited } = page;
      page.blocks = paragraph('second');
      expect(page.edited).toBe(edited);
      await model.sync(await open());
      expect(model.contents()[0]?.[1]).toContain('second');
      server.ahead = 3 * minuteMs;
      await model.sync(await open());
      expect(model.fetched).toBe(3);
      await model.sync(await open());
      expect(model.fetched).toBe(3);
    });

    it('sees a new title or property in the same minute, and takes the clock of the service', async () => {
      server = await startNotion('rows');
      server.ahead = -5 * hourMs;
      const page = server.add('a', paragraph('first'), { edited: Date.now() - 5 * hourMs });
      const model = new SourceModel();
      await model.sync(await open());
      await model.sync(await open());
      expect(model.fetched).toBe(2);
      server.ahead = 0;
      await model.sync(await open());
      await model.sync(await open());
      expect(model.fetched).toBe(3);
      page.properties = { Points: { id: 'p', type: 'number', number: 5 } };
      await model.sync(await open());
      expect(model.contents()[0]?.[1]).toContain('- Points: 5');
    });

    it('lists what was edited or moved to the trash since the last listing, and everything after a day', async () => {
      server = await startNotion();
      const scope = { relist_hours: 24 };
      const pages = Array.from({ length: 150 }, (_, at) => server.add(`n${at}`, paragraph('x')));
      const trashed = server.add('trashed long ago', [], { inTrash: true });
      server.age(3 * hourMs);
      const model = new SourceModel();
      expect(await model.sync(await open(scope))).toMatchObject({ scope: 'everything' });
      server.edit(pages[7]!, paragraph('edited'));
      pages[8]!.title = 'renamed';
      server.edit(pages[8]!, paragraph('y'));
      await server.remove('n9');
      pages[10]!.isHidden = true;
      server.add('new', paragraph('z'));
      server.asked.length = 0;
      const listing = await model.sync(await open(scope));
      expect(listing.scope).toBe('changes');
      expect(listing.documents.map(({ name }) => nameIn(name)).sort()).toEqual(['n7', 'new', 'renamed']);
      expect(listing.gone).toEqual([pages[9]!.id]);
      expect(listing.gone).not.toContain(trashed.id);
      expect(readsOf('POST /search')).toBe(2);
      expect(model.copies.has(pages[10]!.id)).toBe(true);
      server.ahead = 25 * hourMs;
      expect(await model.sync(await open(scope))).toMatchObject({ scope: 'everything' });
      expect(model.copies.has(pages[10]!.id)).toBe(false);
      expect(model.copies.size).toBe(149);
    });

    it('lists an edit that came into the index of the search late', async () => {
      server = await startNotion();
      const scope = { relist_hours: 24 };
      const page = server.add('a', paragraph('first'));
      server.age(5 * hourMs);
      const model = new SourceModel();
      await model.sync(await open(scope));
      page.blocks = paragraph('second');
      page.edited = Date.now() - 20 * minuteMs;
      await model.sync(await open(scope));
      expect(model.contents()[0]?.[1]).toContain('second');
    });

    it('lists everything for another integration, and with a checkpoint that it does not know', async () => {
      server = await startNotion();
      const scope = { relist_hours: 24 };
      const { checkpoint } = await listAll(await open(scope));
      expect(await listAll(await open(scope), checkpoint)).toMatchObject({ scope: 'changes' });
      expect(await listAll(await open(scope), 'of an older version')).toMatchObject({ scope: 'everything' });
      server.userId = '66666666-ffff-4fff-8fff-666666666666';
      expect(await listAll(await open(scope), checkpoint)).toMatchObject({ scope: 'everything' });
    });

    it('lists everything after a listing whose time was in the future', async () => {
      server = await startNotion();
      const scope = { relist_hours: 24 };
      server.ahead = 48 * 3_600_000;
      const { checkpoint } = await listAll(await open(scope));
      server.ahead = 0;
      expect(await listAll(await open(scope), checkpoint)).toMatchObject({ scope: 'everything' });
    });

    it('lists changes also where the search does not show the trash', async () => {
      server = await startNotion();
      const scope = { relist_hours: 24 };
      server.hidesTrash = true;
      const { checkpoint } = await listAll(await open(scope));
      server.add('a', []);
      await server.put('b', 'b');
      await server.remove('b');
      const listing = await listAll(await open(scope), checkpoint);
      expect(listing).toMatchObject({ documents: [{ name: 'a.md' }], gone: [], scope: 'changes' });
    });

    it('deletes a page that the search names as one in the trash', async () => {
      server = await startNotion();
      const page = server.add('a', []);
      const source = await open();
      server.interfere((request, response) => {
        if (request.url !== '/v1/search') return false;
        const results = [
          { object: 'page', id: page.id, last_edited_time: '2025-01-01T00:00:00Z', in_trash: true },
        ];
        response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(JSON.stringify({ results, has_more: false, next_cursor: null }));
        return true;
      });
      expect(await listAll(source)).toMatchObject({ documents: [], gone: [page.id] });
    });

    it('keeps what a listing lacks while the page itself is there', async () => {
      server = await startNotion();
      const page = server.add('a', paragraph('x'));
      const source = await open();
      expect(await source.exists(page.id, brief())).toBe(true);
      page.inTrash = true;
      expect(await source.exists(page.id, brief())).toBe(false);
      page.inTrash = false;
      page.isHidden = true;
      expect(await source.exists(page.id, brief())).toBe(false);
    });
  });

  describe('the scope', () => {
    it('leaves out rows of databases, where it says so', async () => {
      server = await startNotion();
      const row = server.add('row', [], {
        parent: { type: 'data_source_id', data_source_id: dataSource, database_id: database },
      });
      const legacy = server.add('legacy', [], { parent: { type: 'database_id', database_id: database } });
      server.add('page', []);
      expect(await namesOf()).toEqual(['legacy', 'page', 'row']);
      expect(await namesOf({ database_rows: false })).toEqual(['page']);
      for (const { id } of [row, legacy]) {
        const source = await open({ database_rows: false });
        expect(await source.exists(id, brief())).toBe(false);
        expect(await source.fetch({ ...firstTime, ref: id }, brief())).toEqual({ kind: 'gone' });
      }
    });

    it('reads the root pages and all below them, asking once for what is above', async () => {
      server = await startNotion();
      const root = server.add('root', []);
      const inner = server.add('inner', [], { parent: onPage(root.id) });
      const toggle = '77777777-aaaa-4aaa-8aaa-777777777777';
      server.parents.set(`blocks/${toggle}`, onPage(inner.id));
      for (let at = 0; at < 5; at += 1) server.add(`deep ${at}`, [], { parent: onBlock(toggle) });
      server.add('beside', []);
      server.add('lost', [], { parent: onPage('88888888-aaaa-4aaa-8aaa-888888888888') });
      server.parents.set(`databases/${database}`, onPage(inner.id));
      server.add('row', [], {
        parent: { type: 'data_source_id', data_source_id: dataSource, database_id: database },
      });
      const below = ['deep 0', 'deep 1', 'deep 2', 'deep 3', 'deep 4', 'inner', 'row'];
      server.asked.length = 0;
      expect(await namesOf({ root_pages: [root.id] })).toEqual([...below, 'root'].sort());
      expect(readsOf(`/blocks/${toggle}`)).toBe(1);
      expect(readsOf(`/databases/${database}`)).toBe(1);
      expect(readsOf(`/pages/${inner.id}`)).toBe(0);
      const plain = inner.id.replaceAll('-', '').toUpperCase();
      expect(await namesOf({ root_pages: [plain] })).toEqual(below);
      expect(await namesOf({ root_pages: [database] })).toEqual(['row']);
      expect(await namesOf({ root_pages: [dataSource] })).toEqual(['row']);
    });

    it('deletes a page that was moved from below the root pages', async () => {
      server = await startNotion('rows');
      const scope = { relist_hours: 24 };
      const page = server.add('a', paragraph('x'), { parent: onPage(teamPage) });
      server.age(3 * hourMs);
      const model = new SourceModel();
      await model.sync(await open(scope));
      expect(model.copies.size).toBe(1);
      page.parent = { type: 'workspace', workspace: true };
      server.edit(page, paragraph('x'));
      expect(await model.sync(await open(scope))).toMatchObject({ scope: 'changes', gone: [page.id] });
      expect(await (await open(scope)).exists(page.id, brief())).toBe(false);
    });

    it('is checked to its end where the service asks for short pauses', async () => {
      server = await startNotion();
      const source = await open({ root_pages: [teamPage, dataSource] });
      let refused = 0;
      server.before = (path) => {
        if (!path.startsWith('/data_sources') || refused === 2) return null;
        refused += 1;
        return refusal(429, 'rate_limited', { 'retry-after': '0' });
      };
      await source.check(brief());
      expect(refused).toBe(2);
    });

    it('keeps a page whose place is not shown, and lists it no more', async () => {
      server = await startNotion('rows');
      const scope = { relist_hours: 24 };
      const page = server.add('a', paragraph('x'), { parent: onPage(teamPage) });
      server.age(3 * hourMs);
      const model = new SourceModel();
      await model.sync(await open(scope));
      const hidden = '88888888-aaaa-4aaa-8aaa-888888888888';
      for (const parent of [onPage(hidden), onBlock(hidden), { type: 'other' }, null]) {
        page.parent = parent as object;
        server.edit(page, paragraph('y'));
        const source = await open(scope);
        const { checkpoint } = model;
        expect(await model.sync(source)).toMatchObject({ scope: 'changes', documents: [], gone: [] });
        expect(await listAll(source, checkpoint)).toMatchObject({ documents: [], gone: [] });
        await expect(source.exists(page.id, brief())).rejects.toMatchObject({ code: 'source_invalid' });
        await expect(source.fetch({ ...firstTime, ref: page.id }, brief())).rejects.toMatchObject({
          code: 'source_invalid',
        });
        expect(model.copies.size).toBe(1);
      }
    });

    it('names root pages, databases or data sources that are there', async () => {
      server = await startNotion();
      for (const id of [teamPage, database, dataSource])
        await (await open({ root_pages: [id] })).check(brief());
      const source = await open({ root_pages: ['99999999-aaaa-4aaa-8aaa-999999999999'] });
      await expect(source.check(brief())).rejects.toMatchObject({ code: 'scope_invalid' });
      for (const id of ['..', 'x'.repeat(32), `${teamPage}/..`]) {
        await expect(async () => open({ root_pages: [id] })).rejects.toMatchObject({
          code: 'invalid_request',
        });
      }
    });
  });

  describe('the search', () => {
    it('finds its place again when its cursor has expired', async () => {
      server = await startNotion();
      for (let at = 0; at < 1_350; at += 1)
        server.add(`n${at}`, [], { edited: Date.now() - Math.floor(at / 380) * minuteMs });
      const source = await open();
      const found: string[] = [];
      let cursor: string | null = null;
      for (let pages = 0; pages === 0 || cursor !== null; pages += 1) {
        const page = await source.list({ cursor, checkpoint: null }, brief());
        found.push(...page.documents.map(({ name }) => name));
        cursor = page.next;
        server.expire();
      }
      // What stands shortly before the place is listed twice.
      expect(found.length).toBeLessThan(2 * 1_350);
      expect(new Set(found).size).toBe(1_350);
    });

    it('misses no page where pages of the minute of its place were edited before it finds the place again', async () => {
      server = await startNotion();
      const edited = Date.now() - hourMs;
      for (let at = 0; at < 700; at += 1) server.add(`n${at}`, [], { edited });
      const source = await open();
      const found = new Set<string>();
      let cursor: string | null = null;
      for (let pages = 0; pages === 0 || cursor !== null; pages += 1) {
        const page = await source.list({ cursor, checkpoint: null }, brief());
        for (const { name } of page.documents) found.add(name);
        cursor = page.next;
        server.expire();
        for (let at = 0; at < 30; at += 1) server.edit(server.pages[30 * pages + at]!, []);
      }
      expect(found.size).toBe(700);
    });

    it('finds its place again where a later page of the trash is refused', async () => {
      server = await startNotion();
      const scope = { relist_hours: 24 };
      const { checkpoint } = await listAll(await open(scope));
      for (let at = 0; at < 350; at += 1) server.add(`n${at}`, [], { inTrash: true });
      const source = await open(scope);
      const first = await source.list({ cursor: null, checkpoint }, brief());
      server.expire();
      const second = await source.list({ cursor: first.next, checkpoint }, brief());
      expect(new Set([...first.gone, ...second.gone]).size).toBe(350);
    });

    it('begins again with a cursor that it cannot read', async () => {
      server = await startNotion();
      const source = await open();
      for (const cursor of ['no cursor', JSON.stringify(['{}', 0, 1])]) {
        await expect(source.list({ cursor, checkpoint: null }, brief())).rejects.toMatchObject({
          code: 'cursor_expired',
        });
      }
    });

    it('begins again when each cursor expires at once', async () => {
      server = await startNotion();
      for (let at = 0; at < 650; at += 1) server.add(`n${at}`, [], { edited: Date.now() - at * minuteMs });
      const source = await open();
      const { next } = await source.list({ cursor: null, checkpoint: null }, brief());
      server.before = () => {
        server.expire();
        return null;
      };
      for (const cursor of [next, null]) {
        await expect(source.list({ cursor, checkpoint: null }, brief())).rejects.toMatchObject({
          code: 'cursor_expired',
        });
      }
    });

    it('does not count what is missing as deleted where it ends at a limit', async () => {
      server = await startNotion();
      for (let at = 0; at < 250; at += 1) server.add(`n${at}`, []);
      const short = { documents: { length: 200 }, truncated: true, checkpoint: null };
      expect(await listAll(await open({ max_documents: 200 }))).toMatchObject(short);
      expect(await listAll(await open({ max_documents: 250 }))).toMatchObject({ truncated: false });
      server.resultLimit = 200;
      expect(await listAll(await open())).toMatchObject(short);
    });

    it('takes an overload for a pause, a conflict for a passing failure, and a missing capability for one of the credential', async () => {
      server = await startNotion();
      const source = await open();
      server.before = () => refusal(529, 'service_overload', { 'retry-after': '9' });
      await expect(listAll(source)).rejects.toMatchObject({ code: 'rate_limited', retryAfterMs: 9_000 });
      server.before = () => refusal(409, 'conflict_error');
      await expect(listAll(source)).rejects.toMatchObject({ code: 'source_unreachable' });
      server.before = () => refusal(403, 'restricted_resource');
      await expect(source.check(brief())).rejects.toMatchObject({ code: 'auth_failed' });
    });
  });
});
