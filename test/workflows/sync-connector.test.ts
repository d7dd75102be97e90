import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import { ConnectorActors } from '#test/support/sources/connector-actors.ts';
import type { MemorySource } from '#test/support/sources/memory-source.ts';

let actors: ConnectorActors;

beforeAll(async () => {
  actors = await ConnectorActors.open();
});
afterAll(() => actors.stop());

const letters = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`d${n}`, `Document ${n}.`]));

/** Lists everything once, and no changes after it. */
function listsNothingNew(source: MemorySource): void {
  source.page = (_, checkpoint) => ({
    documents: checkpoint === null ? [...source.documents.keys()].map((ref) => source.listed(ref)) : [],
    gone: [],
    next: null,
    checkpoint: 'since then',
    total: null,
    scope: checkpoint === null ? 'everything' : 'changes',
  });
}

describe('a run of a connector', () => {
  it('stores what the source has, fetches only what changed, and deletes what is gone', async () => {
    const { source, space, sync } = await actors.connect({
      a: 'Alpha.',
      b: 'Beta.',
      c: 'Gamma.',
      d: 'Delta.',
    });
    expect(await sync()).toMatchObject({ status: 'completed', added: 4, recordsFetched: 4, deleted: 0 });
    expect(await space.contents()).toEqual({
      'a.md': 'Alpha.',
      'b.md': 'Beta.',
      'c.md': 'Gamma.',
      'd.md': 'Delta.',
    });
    expect(source.take('fetch')).toHaveLength(4);
    expect(await space.read()).toMatchObject({ status: 'active' });

    expect(await sync()).toMatchObject({ status: 'completed', added: 0, unchanged: 4 });
    expect(source.take('fetch')).toEqual([]);

    source.put('b', 'Beta the second.');
    source.documents.delete('c');
    source.put('e', 'Epsilon.');
    expect(await sync()).toMatchObject({
      status: 'completed',
      added: 1,
      updated: 1,
      unchanged: 2,
      deleted: 1,
    });
    expect(source.take('fetch')).toEqual(['fetch b', 'fetch e']);
    expect(await space.contents()).toEqual({
      'a.md': 'Alpha.',
      'b.md': 'Beta the second.',
      'd.md': 'Delta.',
      'e.md': 'Epsilon.',
    });
    expect(await space.find('second')).toEqual(['Beta the second.']);
    expect(await space.find('gamma')).toEqual([]);
  });

  it('fails where groups are listed without an end, which keeps their members as they were', async () => {
    const { source, sync } = await actors.connect({ a: 'Alpha.' });
    source.groups = () => Promise.resolve({ groups: [], next: 'on' });
    expect(await sync()).toMatchObject({ status: 'failed', errorCode: 'source_invalid', added: 0 });
  });

  it('shows the new name and address of a document that is renamed and keeps its identity and content', async () => {
    const { source, space, sync } = await actors.connect({ a: 'Alpha.', b: 'Beta.' });
    await sync();
    source.put('a', 'Alpha.', { version: '1', name: 'renamed/a.md', url: 'https://a.example/2' });
    source.put('b', 'Beta.', { version: '2', name: 'b2.md' });
    expect(await sync()).toMatchObject({ status: 'completed', unchanged: 2, updated: 0, bytes: 0 });
    expect(await space.contents()).toEqual({ 'renamed/a.md': 'Alpha.', 'b2.md': 'Beta.' });
    const { rows } = await actors.world.admin.query<{ metadata: object }>(
      `select metadata from documents where collection_id = $1 and filename = 'renamed/a.md'`,
      [space.collectionId],
    );
    expect(rows).toEqual([{ metadata: { source: 'memory', url: 'https://a.example/2' } }]);
    expect(source.take('fetch')).toEqual(['fetch a', 'fetch b', 'fetch b']);
  });

  it('compares contents when it is full, and finds those that changed under one version', async () => {
    const { source, space, sync } = await actors.connect({ a: 'Alpha.', b: 'Beta.' });
    await sync();
    source.put('a', 'Alpha, silently changed.', { version: '1' });
    expect(await sync()).toMatchObject({ unchanged: 2, updated: 0 });
    expect(await sync({ mode: 'full' })).toMatchObject({ unchanged: 1, updated: 1 });
    expect(await space.contents()).toMatchObject({ 'a.md': 'Alpha, silently changed.' });
  });

  it('holds more deletions than the guard allows until a person confirms them', async () => {
    const { source, space, sync } = await actors.connect(letters(40));
    await sync();
    source.documents.clear();
    source.put('d1', 'Document 1.', { version: '1' });
    expect(await sync()).toMatchObject({
      status: 'completed_with_errors',
      errorCode: 'deletion_guard',
      deleted: 0,
      deletesHeld: 39,
    });
    expect(Object.keys(await space.contents())).toHaveLength(40);
    expect(await sync({ confirmDeletions: true })).toMatchObject({ status: 'completed', deleted: 39 });
    expect(await space.contents()).toEqual({ 'd1.md': 'Document 1.' });
  });

  it('deletes on confirmation what only a listing of everything lacks, though the next run would list changes', async () => {
    const { source, space, sync } = await actors.connect(letters(40));
    listsNothingNew(source);
    await sync();
    source.documents.clear();
    source.put('d1', 'Document 1.', { version: '1' });
    expect(await sync()).toMatchObject({ status: 'completed', deletesHeld: 0 });
    expect(await sync({ mode: 'full' })).toMatchObject({ errorCode: 'deletion_guard', deletesHeld: 39 });
    expect(await sync()).toMatchObject({ errorCode: 'deletion_guard', deletesHeld: 39 });
    expect(await sync({ confirmDeletions: true })).toMatchObject({ status: 'completed', deleted: 39 });
    expect(await space.contents()).toEqual({ 'd1.md': 'Document 1.' });
  });

  it.each(['gone', 'skipped'] as const)(
    'holds documents that are listed and %s when they are fetched, as it holds deletions',
    async (kind) => {
      const { source, space, sync } = await actors.connect(letters(40));
      await sync();
      const fetch = source.fetch.bind(source);
      const unreadable = () =>
        Promise.resolve(kind === 'gone' ? { kind } : { kind, code: 'forbidden_by_source' as const });
      source.fetch = unreadable;
      const listedAgain = (version: string) =>
        source.documents.forEach((each, ref) => source.put(ref, each.text, { version }));
      listedAgain('2');
      const held = {
        status: 'completed_with_errors',
        errorCode: 'deletion_guard',
        deletesHeld: 40,
        deleted: 0,
      };
      expect(await sync()).toMatchObject(held);
      expect(await sync()).toMatchObject(held);
      expect(Object.keys(await space.contents())).toHaveLength(40);

      source.fetch = fetch;
      expect(await sync()).toMatchObject({ status: 'completed', unchanged: 40, updated: 0, deletesHeld: 0 });
      expect(await sync()).toMatchObject({ status: 'completed', unchanged: 40 });
      expect(new Set((await space.documents()).map(({ state }) => state))).toEqual(new Set(['stored']));

      source.fetch = unreadable;
      listedAgain('3');
      expect(await sync({ confirmDeletions: true })).toMatchObject({ status: 'completed', deleted: 40 });
      expect(await space.contents()).toEqual({});
      const left = (await space.documents()).map(({ state, errorCode }) => `${state} ${errorCode}`);
      expect(new Set(left)).toEqual(new Set([`skipped ${kind === 'gone' ? 'gone' : 'forbidden_by_source'}`]));
      source.fetch = fetch;
      expect(await sync()).toMatchObject({ status: 'completed', added: 40 });
    },
  );

  it('keeps a document that the listing lacks and the source still has, or cannot be asked for', async () => {
    const { source, space, sync } = await actors.connect({ a: 'Alpha.', b: 'Beta.', c: 'Gamma.' });
    await sync();
    source.page = () => ({
      documents: [source.listed('a')],
      gone: [],
      next: null,
      checkpoint: null,
      total: null,
      scope: 'everything',
    });
    source.before = (request, ref) => {
      if (request === 'exists' && ref === 'c') {
        throw new Error('the source is silent');
      }
    };
    expect(await sync()).toMatchObject({ deleted: 0 });
    expect(new Set(source.take('exists'))).toEqual(new Set(['exists b', 'exists c']));
    expect(Object.keys(await space.contents())).toHaveLength(3);
  });

  it('lists everything again until each document that is missing could be asked for', async () => {
    const { source, space, sync } = await actors.connect({ a: 'Alpha.', b: 'Beta.' });
    listsNothingNew(source);
    await sync();
    source.documents.delete('b');
    source.before = (request) => {
      if (request === 'exists') throw new SourceFailure('source_invalid', 'The answer makes no sense.');
    };
    const run = await sync({ mode: 'full' });
    expect(run).toMatchObject({ status: 'completed', deleted: 0 });
    expect(run.errors).toMatchObject([{ ref: 'b', code: 'source_invalid' }]);
    source.before = () => {};
    expect(await sync()).toMatchObject({ status: 'completed', deleted: 1 });
    expect(await space.contents()).toEqual({ 'a.md': 'Alpha.' });
  });

  it('obeys a pause that the source asks for between questions, and goes on behind those it has answered', async () => {
    const { source, sync } = await actors.connect(letters(20));
    await sync();
    source.documents.clear();
    let answered = 0;
    let askedAt = 0;
    source.before = (request) => {
      if (request !== 'exists') return;
      answered += 1;
      if (answered === 10) {
        askedAt = Date.now();
        throw new SourceFailure('rate_limited', 'Later.', { retryAfterMs: 1_500 });
      }
      if (answered === 13) expect(Date.now() - askedAt).toBeGreaterThan(1_400);
    };
    expect(await sync()).toMatchObject({ status: 'completed', deleted: 20, rateLimitedMs: 1_500 });
    // At most those beside the refused one were asked twice.
    expect(source.take('exists').length).toBeLessThanOrEqual(24);
  });

  it('fails when the source refuses the credential between questions', async () => {
    const { source, space, sync } = await actors.connect(letters(20));
    await sync();
    source.documents.clear();
    source.before = (request) => {
      if (request === 'exists') throw new SourceFailure('auth_failed', 'The credential is refused.');
    };
    expect(await sync()).toMatchObject({ status: 'failed', errorCode: 'auth_failed', deleted: 0 });
    expect(source.take('exists').length).toBeLessThanOrEqual(4);
    expect(Object.keys(await space.contents())).toHaveLength(20);
  });

  it('counts a document as failed that the source twice gives no answer for, and fetches it in the next run', async () => {
    const { source, space, sync } = await actors.connect(letters(6));
    source.before = (request, ref) => {
      if (request === 'fetch' && (ref === 'd2' || ref === 'd5')) {
        throw new SourceFailure('source_unreachable', 'The source does not answer.');
      }
    };
    expect(await sync()).toMatchObject({ status: 'completed_with_errors', added: 4, failed: 2, attempts: 0 });
    const failed = ['fetch d2', 'fetch d2', 'fetch d5', 'fetch d5'];
    expect(
      source
        .take('fetch')
        .filter((request) => /[25]$/.test(request))
        .toSorted(),
    ).toEqual(failed);
    source.before = () => {};
    expect(await sync()).toMatchObject({ status: 'completed', added: 2, unchanged: 4 });
    expect(Object.keys(await space.contents())).toHaveLength(6);
  });

  it.each([
    ['for a moment', ['fetch d1', 'fetch d2'], 1],
    ['for longer', ['fetch d1', 'fetch d2', 'check null'], 2],
  ])('loses no document to a source that is away %s at the end of a listing', async (_, refused, steps) => {
    const { source, space, sync } = await actors.connect(letters(3));
    const left = new Set(refused);
    let isListed = false;
    source.before = (request, ref) => {
      isListed ||= request === 'list';
      if (isListed && left.delete(`${request} ${ref}`)) {
        throw new SourceFailure('source_unreachable', 'The source does not answer.');
      }
    };
    expect(await sync()).toMatchObject({ status: 'completed', added: 3, failed: 0 });
    expect(left.size).toBe(0);
    expect(source.take('list')).toHaveLength(steps);
    expect(Object.keys(await space.contents())).toHaveLength(3);
  });

  it('leaves out what cannot be read, with its reason, and no longer finds what it was before', async () => {
    const { source, space, sync } = await actors.connect({ a: 'Alpha.', b: 'Beta.' });
    await sync();
    source.put('b', '\0\0\0\0\u0001');
    source.put('c', 'C'.repeat(10), { byteSize: 100_000_000 });
    expect(await sync()).toMatchObject({ status: 'completed', skipped: 2, failed: 0 });
    expect(await space.contents()).toEqual({ 'a.md': 'Alpha.' });
    const states = (await space.documents()).map(({ ref, state, errorCode }) => [
      ref,
      state,
      errorCode ?? null,
    ]);
    expect(new Set(states)).toEqual(
      new Set([
        ['a', 'stored', null],
        ['b', 'skipped', 'unsupported_format'],
        ['c', 'skipped', 'too_large'],
      ]),
    );
    expect(source.take('fetch').filter((request) => request === 'fetch c')).toEqual([]);
  });

  it('deletes the documents of a deleted connector, or leaves them to the collection', async () => {
    const gone = await actors.connect({ a: 'Alpha.', b: 'Beta.' });
    await gone.sync();
    expect(await gone.space.delete()).toMatchObject({ status: 'deleting' });
    await gone.handle.signal('deleted');
    await gone.handle.result();
    expect(await gone.space.contents()).toEqual({});
    await expect(gone.space.read()).rejects.toMatchObject({ code: 'connector_not_found' });

    const left = await actors.connect({ a: 'Alpha.' });
    await left.sync();
    await left.space.delete(true);
    await left.handle.signal('deleted');
    await left.handle.result();
    expect(await left.space.contents()).toEqual({ 'a.md': 'Alpha.' });
  });

  it('joins requests: one runs, one is queued, and further ones are the queued one', async () => {
    const { source, space, begin, end } = await actors.connect({ a: 'Alpha.' });
    let release = (): void => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    source.before = (request) => (request === 'list' ? held : undefined);
    const first = await begin();
    await expect.poll(async () => (await space.runs())[0]?.status).toBe('running');
    const second = await begin();
    expect(await begin({ confirmDeletions: true })).toBe(second);
    expect(second).not.toBe(first);
    release();
    await end(first);
    expect(await end(second)).toMatchObject({ status: 'completed', confirmDeletions: true });
    expect(await space.runs()).toHaveLength(2);
  });

  it('that is scheduled begins by itself', async () => {
    const { space, handle } = await actors.connect(
      { a: 'Alpha.' },
      { syncSchedule: { type: 'interval', minutes: 5 } },
    );
    await expect.poll(async () => (await space.read()).status, { timeout: 20_000 }).toBe('active');
    expect((await space.runs()).map(({ trigger }) => trigger)).toEqual(['initial']);
    await actors.world.admin.query(
      `update sync_runs set created_at = created_at - interval '6 minutes' where connector_id = $1`,
      [space.connectorId],
    );
    await handle.signal('configChanged');
    await expect
      .poll(async () => (await space.runs()).map(({ trigger, status }) => [trigger, status]), {
        timeout: 20_000,
      })
      .toEqual([
        ['schedule', 'completed'],
        ['initial', 'completed'],
      ]);
  });
});
