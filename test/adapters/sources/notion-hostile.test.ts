import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, describe, expect, it } from 'vitest';
import { BoundedText } from '#adapters/sources/notion/bounded-text.ts';
import { notionProvider } from '#adapters/sources/notion/provider.ts';
import { block, richText, say, shownBlock, type FakeBlock } from '../../support/sources/notion-blocks.ts';
import { refusal, startNotion, type NotionServer } from '../../support/sources/notion-server.ts';
import { listAll, openSource } from '../../support/sources/open-source.ts';

const brief = () => AbortSignal.timeout(60_000);

describe('Notion, where it misbehaves', () => {
  let server: NotionServer;
  afterEach(() => server?.close());
  const open = () => openSource(notionProvider, server);
  const begin = async (...blocks: FakeBlock[]) => {
    server = await startNotion();
    return server.add('Guide', blocks);
  };
  const fetch = async ({ id: ref }: { id: string }, maxBytes = 100_000) =>
    (await open()).fetch({ ref, version: null, mediaType: null, maxBytes }, brief());
  const textOf = async (page: { id: string }) => {
    const found = await fetch(page);
    return found.kind === 'content' ? Buffer.from(found.content).toString() : found;
  };
  const answerSearch = (text: string) => {
    server.before = (path) =>
      path === '/search' ? new Response(text, { headers: { 'content-type': 'application/json' } }) : null;
  };
  const answerBlocks = (answer: (path: string) => object) => {
    server.before = (path) => (path.endsWith('/children') ? Response.json(answer(path)) : null);
  };

  describe('limits of requests', () => {
    it('goes on after a short pause amid a page, and does not read its blocks again', async () => {
      const page = await begin(say('toggle', 'a', [say('paragraph', 'inner')]), say('paragraph', 'b'));
      let refused = 0;
      server.before = (path) => {
        if (!path.endsWith('/children') || path.includes(page.id) || refused === 2) return null;
        refused += 1;
        return refusal(429, 'rate_limited', { 'retry-after': '0' });
      };
      expect(await textOf(page)).toBe('# Guide\n\na\n\ninner\n\nb');
      expect(refused).toBe(2);
      expect(server.asked.filter((each) => each.endsWith(`${page.id}/children`))).toHaveLength(1);
    });

    it('leaves a longer pause, and that of the first request of a page, to the run', async () => {
      const page = await begin(say('paragraph', 'b'));
      server.before = (path) =>
        path.endsWith('/children') ? refusal(429, 'rate_limited', { 'retry-after': '120' }) : null;
      await expect(fetch(page)).rejects.toMatchObject({ code: 'rate_limited', retryAfterMs: 120_000 });
      server.before = () => refusal(429, 'rate_limited', { 'retry-after': '1' });
      await expect(fetch(page)).rejects.toMatchObject({ code: 'rate_limited', retryAfterMs: 1_000 });
    });

    it('ends a pause with its signal', async () => {
      const page = await begin(say('paragraph', 'b'));
      server.before = (path) =>
        path.endsWith('/children') ? refusal(429, 'rate_limited', { 'retry-after': '60' }) : null;
      const source = await open();
      const began = Date.now();
      const asked = { ref: page.id, version: null, mediaType: null, maxBytes: 1_000 };
      await expect(source.fetch(asked, AbortSignal.timeout(200))).rejects.toMatchObject({
        name: 'TimeoutError',
      });
      expect(Date.now() - began).toBeLessThan(3_000);
    });
  });

  describe('blocks', () => {
    it('are read to a depth of thirty', async () => {
      let deep = say('paragraph', 'level 100');
      for (let level = 99; level > 0; level -= 1) deep = say('bulleted_list_item', `level ${level}`, [deep]);
      const text = await textOf(await begin(deep, say('paragraph', 'end')));
      expect(text).toContain('- level 31\n\nend');
      expect(text).not.toContain('level 32');
      expect(server.asked.length).toBeLessThan(40);
    });

    it('that stand within themselves, or have no end, are too large', async () => {
      const page = await begin();
      const again = Array.from({ length: 5 }, () =>
        shownBlock(say('toggle', 'again', [say('paragraph', 'x')])),
      );
      answerBlocks(() => ({ results: again, has_more: false, next_cursor: null }));
      expect(await fetch(page, 30_000_000)).toEqual({ kind: 'skipped', code: 'too_large' });
      expect(server.asked.length).toBeLessThanOrEqual(1_002);
      let made = 0;
      answerBlocks(() => ({ results: [], has_more: true, next_cursor: `c${(made += 1)}` }));
      expect(await fetch(page)).toEqual({ kind: 'skipped', code: 'too_large' });
    });

    it('whose cursor repeats, or lacks, break the protocol', async () => {
      const page = await begin();
      const results = [shownBlock(say('paragraph', 'x'))];
      for (const next of ['same', null]) {
        answerBlocks(() => ({ results, has_more: true, next_cursor: next }));
        await expect(fetch(page)).rejects.toMatchObject({ code: 'source_invalid' });
      }
    });

    it('of a later page that is refused do not end the text early', async () => {
      const page = await begin(...Array.from({ length: 150 }, () => say('paragraph', 'x')));
      let asked = 0;
      server.before = (path) => {
        asked += path.endsWith('/children') ? 1 : 0;
        return asked === 2 ? refusal(400, 'validation_error') : null;
      };
      await expect(fetch(page)).rejects.toMatchObject({ code: 'scope_invalid' });
    });

    it('that the service does not give are left out, and without those of the page it is gone', async () => {
      for (const status of [400, 404]) {
        const page = await begin(say('toggle', 'a', [say('paragraph', 'hidden')]), say('paragraph', 'b'));
        server.before = (path) =>
          path.endsWith('/children') && !path.includes(page.id) ? refusal(status, 'validation_error') : null;
        expect(await textOf(page)).toBe('# Guide\n\na\n\nb');
        server.before = (path) => (path.endsWith('/children') ? refusal(404, 'object_not_found') : null);
        expect(await fetch(page)).toEqual({ kind: 'gone' });
        if (status === 400) await server.close();
      }
    });

    it('in another form than documented are refused, whatever they hold', async () => {
      const page = await begin();
      for (const content of [{ rich_text: 'text' }, { rich_text: [{ plain_text: 7 }] }, null, [[]]]) {
        answerBlocks(() => ({
          results: [shownBlock(block('paragraph', content as never))],
          has_more: false,
        }));
        await expect(fetch(page)).rejects.toMatchObject({ code: 'source_invalid' });
      }
      answerBlocks(() => ({
        results: [{ id: '../../users', type: 'paragraph', has_children: true }],
        has_more: false,
      }));
      await expect(fetch(page)).rejects.toMatchObject({ code: 'source_invalid' });
    });

    it('are too large where their lines are, and where a response is', async () => {
      let deep = say('paragraph', '\n'.repeat(90_000));
      for (let level = 0; level < 25; level += 1) deep = say('quote', 'q', [deep]);
      expect(await fetch(await begin(deep), 1_000_000)).toEqual({ kind: 'skipped', code: 'too_large' });
      await server.close();
      const page = await begin();
      const results = [shownBlock(block('paragraph', { rich_text: richText('x'.repeat(9_000_000)) }))];
      answerBlocks(() => ({ results, has_more: false, next_cursor: null }));
      expect(await fetch(page, 30_000_000)).toEqual({ kind: 'skipped', code: 'too_large' });
    });
  });

  describe('what is held of responses', () => {
    const junk = `"junk":[${'{},'.repeat(100_000)}{}]`;
    const respond = (text: string) => new Response(text, { headers: { 'content-type': 'application/json' } });
    /** Bytes of the heap. */
    const held = () => {
      setFlagsFromString('--expose-gc');
      (runInNewContext('gc') as () => void)();
      return process.memoryUsage().heapUsed;
    };

    it('is no more of blocks than their text', async () => {
      const page = await begin();
      const inner = JSON.stringify(shownBlock(say('toggle', 'again', [say('paragraph', 'x')])));
      const heap: number[] = [];
      server.before = (path) => {
        if (!path.endsWith('/children')) return null;
        if (heap.push(heap.length % 25 === 0 ? held() : 0) > 25) return refusal(403, 'restricted_resource');
        return respond(`{"results":[${inner.slice(0, -1)},${junk}}],"has_more":true,"next_cursor":"more"}`);
      };
      await expect(fetch(page)).rejects.toMatchObject({ code: 'auth_failed' });
      expect(heap[25]! - heap[0]!).toBeLessThan(10_000_000);
    });

    it('is no more of listed pages than their properties in words', async () => {
      await begin();
      const heap: number[] = [];
      const result = `{"object":"page","id":"${server.userId}","last_edited_time":"2025-01-01T00:00:00Z","properties":{"a":{"type":"number","number":7,${junk}}}}`;
      server.before = (path) => {
        if (path !== '/search') return null;
        heap.push(held());
        const next = heap.length === 3 ? 'false' : `true,"next_cursor":"${heap.length}"`;
        return respond(`{"results":[${result}],"has_more":${next}}`);
      };
      await listAll(await open());
      expect(heap[2]! - heap[0]!).toBeLessThan(4_000_000);
    });

    it('is no more text than the document may have', async () => {
      const page = await begin();
      const results = [
        shownBlock(say('toggle', 'again', [say('paragraph', 'x')])),
        shownBlock(say('paragraph', 'x'.repeat(30_000))),
      ];
      answerBlocks(() => ({ results, has_more: false, next_cursor: null }));
      expect(await fetch(page, 100_000)).toEqual({ kind: 'skipped', code: 'too_large' });
      expect(server.asked.filter((each) => each.endsWith('/children'))).toHaveLength(4);
    });
  });

  it('counts what stands before the lines of a block', () => {
    const at = (maxLength: number) =>
      new BoundedText(maxLength).reserve(
        { text: '\n'.repeat(999), lead: '> ', inner: '> ' },
        '> '.repeat(30),
      );
    expect(at(62_000)).toBe(false);
    expect(at(64_000)).toBe(true);
  });

  it('ends a search that repeats its cursor or has no end', async () => {
    await begin();
    answerSearch(JSON.stringify({ results: [], has_more: true, next_cursor: 'same' }));
    expect(await listAll(await open())).toMatchObject({ truncated: true, checkpoint: null, pages: 1 });
    answerSearch(JSON.stringify({ results: [], has_more: true, next_cursor: null }));
    await expect(listAll(await open())).rejects.toMatchObject({ code: 'source_invalid' });
    answerSearch(JSON.stringify({ results: [], has_more: true, next_cursor: 'x'.repeat(5_000) }));
    await expect(listAll(await open())).rejects.toMatchObject({ code: 'source_invalid' });
  });

  it('refuses ids that would be other paths, and times that are none', async () => {
    await begin();
    for (const page of [
      { object: 'page', id: '../users/me', last_edited_time: '2025-01-01T00:00:00Z' },
      { object: 'page', id: server.userId, last_edited_time: 'yesterday' },
    ]) {
      answerSearch(JSON.stringify({ results: [page], has_more: false, next_cursor: null }));
      await expect(listAll(await open())).rejects.toMatchObject({ code: 'source_invalid' });
    }
  });

  it('sends no request for a reference that is no id', async () => {
    await begin();
    for (const id of ['../users/me', '', '..', '\uD800', `${server.userId}/children`]) {
      expect(await fetch({ id })).toEqual({ kind: 'gone' });
      expect(await (await open()).exists(id, brief())).toBe(false);
    }
    expect(server.asked).toEqual([]);
  });

  it('lists pages whose properties are deep, odd or many', async () => {
    await begin();
    const id = server.userId;
    const deep = `${'{"type":"rollup","rollup":'.repeat(20_000)}1${'}'.repeat(20_000)}`;
    const many = Array.from({ length: 5_000 }, (_, at) => `"p${at}":{"type":"number","number":${at}}`).join(
      ',',
    );
    const properties = `{"deep":${deep},"__proto__":{"type":"constructor","constructor":1},"toString":{"type":"__proto__"},${many}}`;
    answerSearch(
      `{"results":[{"object":"page","id":"${id}","last_edited_time":"2025-01-01T00:00:00Z","properties":${properties}},{"object":"data_source","id":"x"}],"has_more":false}`,
    );
    const { documents } = await listAll(await open());
    expect(documents.map(({ ref, name }) => [ref, name])).toEqual([[id, 'Untitled.md']]);
  });

  it('does not go up for ever from a page that stands in itself', async () => {
    server = await startNotion('rows');
    const id = '77777777-bbbb-4bbb-8bbb-777777777777';
    server.parents.set(`blocks/${id}`, { type: 'block_id', block_id: id });
    server.add('a', [], { parent: { type: 'block_id', block_id: id } });
    expect((await listAll(await open())).documents).toEqual([]);
    expect(server.asked.length).toBeLessThan(120);
  });

  it('neither reads nor deletes a page that is shown without its content', async () => {
    const page = await begin(say('paragraph', 'x'));
    const scope = { ...server.scopeConfig, relist_hours: 24 };
    const source = await openSource(notionProvider, { ...server, scopeConfig: scope });
    const { checkpoint } = await listAll(source);
    page.isPartial = true;
    for (const from of [null, checkpoint])
      expect(await listAll(source, from)).toMatchObject({ documents: [], gone: [] });
    await expect(source.exists(page.id, brief())).rejects.toMatchObject({ code: 'source_invalid' });
    await expect(fetch(page)).rejects.toMatchObject({ code: 'source_invalid' });
  });
});
