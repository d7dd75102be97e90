import { afterEach, describe, expect, it } from 'vitest';
import { versionOf } from '#adapters/sources/sharepoint/document.ts';
import { beginState } from '#adapters/sources/sharepoint/listing-state.ts';
import { listAll } from '../../support/sources/open-source.ts';
import {
  answerChanges,
  openSharepoint,
  startSharepoint,
  type SharepointServer,
} from '../../support/sources/sharepoint-server.ts';
import { SourceModel } from '../../support/sources/source-model.ts';

const brief = () => AbortSignal.timeout(20_000);
/** Older than any listing of these tests. */
const longAgo = new Date('2020-01-01T00:00:00Z');

let server: SharepointServer;
afterEach(() => server?.close());
const open = (scope: object = {}) => openSharepoint(server, scope);
const namesOf = async (scope: object = {}) =>
  (await listAll(await open(scope))).documents.map(({ name }) => name).sort();
const read = async (ref: string, maxBytes = 10_000) =>
  (await open()).fetch({ ref, version: null, mediaType: null, maxBytes }, brief());
const first = async () => (await open()).list({ cursor: null, checkpoint: null }, brief());
const answerDelta = (body: object) => answerChanges(server, body);

describe('changes of SharePoint', () => {
  it('lists what has changed after the first time, and fetches nothing that is known', async () => {
    server = await startSharepoint();
    for (let at = 0; at < 450; at += 1) server.drive.put(`n${at}.md`, `text ${at}`);
    const model = new SourceModel();
    expect(await model.sync(await open())).toMatchObject({ scope: 'everything', pages: 3 });
    const before = server.requests();
    expect(await model.sync(await open())).toMatchObject({ scope: 'changes', documents: [], gone: [] });
    // The site, its libraries, and the changes.
    expect(server.requests() - before).toBe(3);
    await server.put('n7.md', 'changed');
    await server.remove('n8.md');
    await server.move('n9.md', 'renamed.md');
    const changed = await model.sync(await open());
    expect([changed.documents.length, changed.gone.length, model.fetched]).toEqual([2, 1, 451]);
    for (let at = 10; at < 440; at += 1) await server.put(`n${at}.md`, `changed ${at}`);
    expect(await model.sync(await open())).toMatchObject({ scope: 'changes', pages: 3 });
    expect([model.copies.size, model.fetched]).toEqual([449, 881]);
  });

  it('misses no change that happens during a listing', async () => {
    server = await startSharepoint();
    for (let at = 0; at < 250; at += 1) server.drive.put(`n${at}.md`, `text ${at}`);
    const source = await open();
    const page = await source.list({ cursor: null, checkpoint: null }, brief());
    await server.put('n3.md', 'changed meanwhile');
    const last = await source.list({ cursor: page.next, checkpoint: null }, brief());
    const { documents } = await listAll(source, last.checkpoint);
    expect(documents.map(({ name }) => name)).toEqual(['Documents/n3.md']);
  });

  it('counts the last of several states of an item', async () => {
    server = await startSharepoint();
    const item = server.drive.put('a.md', 'alpha');
    const listed = (more: object) => ({ ...server.drive.shown(item, { inDelta: true }), ...more });
    const link = `${server.origin}/v1.0/drives/${server.drive.id}/root/delta?token=x`;
    answerDelta({
      value: [listed({ name: 'before.md' }), listed({ deleted: {} }), listed({ name: 'after.md' })],
      '@odata.deltaLink': link,
    });
    expect(await first()).toMatchObject({ documents: [{ name: 'Documents/after.md' }], gone: [] });
    answerDelta({ value: [listed({}), listed({ deleted: {}, name: undefined })], '@odata.deltaLink': link });
    expect(await first()).toMatchObject({ documents: [], gone: [`${server.drive.id}/${item.id}`] });
  });

  it('has the hash, the length and the time of the content as version, else the tag of the item', async () => {
    server = await startSharepoint();
    server.drive.put('a.md', 'alpha');
    server.drive.put('b.md', 'beta', { file: { mimeType: 'text/markdown' } });
    const versions = async () => (await first()).documents.map(({ version }) => version);
    const before = await versions();
    await server.move('a.md', 'c.md');
    await server.move('b.md', 'd.md');
    const after = await versions();
    expect([after[0] === before[0], after[1] === before[1]]).toEqual([true, false]);
  });

  const hashed = (hashes: object, lastModifiedDateTime: string | undefined, eTag = 'tag') =>
    versionOf({ id: 'x', size: 9, eTag, lastModifiedDateTime, file: { hashes } });

  it('does not take equal quick hashes alone as equal contents', () => {
    const [one, two] = ['2025-01-01T00:00:00Z', '2025-01-02T00:00:00Z'];
    const quick = { quickXorHash: 'q' };
    expect(hashed(quick, one)).toBe(hashed(quick, one, 'another'));
    expect(hashed(quick, one)).not.toBe(hashed(quick, two));
    expect(hashed(quick, undefined)).not.toBe(hashed(quick, undefined, 'another'));
  });

  it.each(['sha256Hash', 'sha1Hash'])('takes equal %s as equal contents', (name) => {
    const both = { quickXorHash: 'q', [name]: 's' };
    expect(hashed(both, '2025-01-01T00:00:00Z')).toBe(hashed(both, '2025-01-02T00:00:00Z', 'another'));
    expect(hashed(both, undefined)).not.toBe(hashed({ ...both, [name]: 't' }, undefined));
  });

  it('does not ask for the content of a version that is known, nor of a file that is too large', async () => {
    server = await startSharepoint();
    server.drive.put('a.md', 'x'.repeat(5_000));
    const source = await open();
    const [a] = (await listAll(source)).documents;
    expect(await source.fetch({ ...a!, maxBytes: 10_000 }, brief())).toEqual({ kind: 'unchanged' });
    expect(await read(a!.ref, 4_999)).toMatchObject({ code: 'too_large' });
    expect(server.asked.filter((path) => path.endsWith('/content'))).toEqual([]);
  });

  it.each([
    ['was renamed', () => server.drive.move('old/deep', 'old/renamed'), ['old/b.md', 'old/renamed/a.md']],
    ['was moved', () => server.drive.move('old/deep', 'other/deep'), ['old/b.md', 'other/deep/a.md']],
    ['was deleted', () => server.drive.remove('old/deep'), ['old/b.md']],
  ])(
    'lists everything when a folder %s, for the service does not name what is in it',
    async (_, change, names) => {
      server = await startSharepoint();
      server.drive.put('old/deep/a.md', 'alpha');
      server.drive.put('old/b.md', 'beta');
      for (const item of server.drive.items) item.created = longAgo;
      const model = new SourceModel();
      await model.sync(await open());
      change();
      expect(await model.sync(await open())).toMatchObject({ scope: 'everything' });
      expect(model.contents().map(([name]) => name)).toEqual(names.map((name) => `Documents/${name}`));
      expect(model.fetched).toBe(2);
      expect(await model.sync(await open())).toMatchObject({ scope: 'changes', documents: [] });
    },
  );

  it('begins again when a later page has such a folder', async () => {
    server = await startSharepoint();
    server.drive.put('old/a.md', 'alpha');
    for (const item of server.drive.items) item.created = longAgo;
    const { checkpoint } = await listAll(await open());
    for (let at = 0; at < 250; at += 1) server.drive.put(`n${at}.md`, 'x');
    server.drive.move('old', 'renamed');
    const source = await open();
    const page = await source.list({ cursor: null, checkpoint }, brief());
    expect(page.scope).toBe('changes');
    await expect(source.list({ cursor: page.next, checkpoint }, brief())).rejects.toMatchObject({
      code: 'cursor_expired',
    });
  });

  it.each([
    ['after the listing before', 2_000, 'changes'],
    ['before it', 7_200_000, 'everything'],
    ['in the future', -3_600_000, 'everything'],
  ] as const)('lists for a folder that was made %s what it has to', async (_, age, scope) => {
    server = await startSharepoint();
    server.drive.put('a.md', 'alpha');
    const model = new SourceModel();
    await model.sync(await open());
    // The listing before was an hour ago.
    const ended = new Date(Date.now() - 3_600_000).toISOString();
    model.checkpoint = JSON.stringify({ ...JSON.parse(model.checkpoint!), ended });
    server.drive.folder('new').created = new Date(Date.now() - age);
    server.drive.put('new/b.md', 'beta');
    expect(await model.sync(await open())).toMatchObject({ scope });
    expect(model.contents().map(([name]) => name)).toEqual(['Documents/a.md', 'Documents/new/b.md']);
  });

  it.each([-86_400_000, 86_400_000])(
    'misses no folder that was moved while the clock of the service was %i ms ahead',
    async (ahead) => {
      server = await startSharepoint();
      server.setClock(ahead);
      const folder = server.drive.folder('old');
      server.drive.put('old/a.md', 'alpha');
      folder.created = new Date(Date.now() + ahead);
      const model = new SourceModel();
      await model.sync(await open());
      const { whole, ended } = JSON.parse(model.checkpoint!) as { whole: string; ended: string };
      expect(Date.parse(whole)).toBeLessThanOrEqual(Date.now() + Math.min(ahead, 0));
      expect(Date.parse(ended)).toBeGreaterThan(Date.now() + Math.max(ahead, 0) - 10_000);
      server.drive.move('old', 'renamed');
      expect(await model.sync(await open())).toMatchObject({ scope: 'everything' });
      expect(model.contents()).toEqual([['Documents/renamed/a.md', 'alpha']]);
    },
  );

  it('asks for no folders above a change, and is right where the service lists them nevertheless', async () => {
    server = await startSharepoint();
    server.drive.put('folder/a.md', 'alpha');
    for (const item of server.drive.items) item.created = longAgo;
    const model = new SourceModel();
    await model.sync(await open());
    await server.put('folder/a.md', 'beta');
    expect(await model.sync(await open())).toMatchObject({ scope: 'changes' });
    server.ignoreExclusion();
    await server.put('folder/a.md', 'gamma');
    expect(await model.sync(await open())).toMatchObject({ scope: 'everything' });
    expect(model.contents()).toEqual([['Documents/folder/a.md', 'gamma']]);
  });

  it('asks once for each folder that a page does not contain', async () => {
    server = await startSharepoint();
    for (const name of ['a.md', 'b.md', 'c.md']) server.drive.put(`one/two/three/${name}`, name);
    const { checkpoint } = await listAll(await open());
    for (const name of ['a.md', 'b.md', 'c.md']) server.drive.put(`one/two/three/${name}`, 'changed');
    server.asked.length = 0;
    const { documents } = await listAll(await open(), checkpoint);
    expect(documents.map(({ name }) => name)).toContain('Documents/one/two/three/b.md');
    expect(server.asked.filter((path) => path.includes('/items/'))).toHaveLength(3);
  });

  it('leaves out files whose folders are not shown, or lie within one another in a circle', async () => {
    server = await startSharepoint();
    const lost = server.drive.put('lost/a.md', 'alpha');
    server.drive.put('good/b.md', 'beta');
    const [one, two] = [server.drive.folder('one'), server.drive.folder('one/two')];
    server.drive.put('one/two/c.md', 'gamma');
    one.more = { parentReference: { id: two.id } };
    server.drive.find('lost')!.isDeleted = true;
    expect(await namesOf()).toEqual(['Documents/good/b.md']);
    await expect((await open()).exists(`${server.drive.id}/${lost.id}`, brief())).rejects.toMatchObject({
      code: 'source_unreachable',
    });
  });

  it.each([403, 404, 410, 200])(
    'does not delete files of a folder that is not shown for a moment, with HTTP %i',
    async (status) => {
      server = await startSharepoint();
      const file = server.drive.put('closed/a.md', 'alpha');
      server.drive.put('open/b.md', 'beta');
      const model = new SourceModel();
      await model.sync(await open());
      const { checkpoint } = model;
      server.drive.put('closed/a.md', 'changed');
      server.interfere((request, response) => {
        if (!request.url?.includes(`/items/${file.parent!.id}`)) return false;
        response.writeHead(status, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ id: file.parent!.id }));
        return true;
      });
      const ref = `${server.drive.id}/${file.id}`;
      expect(await listAll(await open(), checkpoint)).toMatchObject({ documents: [], gone: [] });
      const unknown = { code: 'source_unreachable' };
      await expect((await open()).exists(ref, brief())).rejects.toMatchObject(unknown);
      await expect(read(ref)).rejects.toMatchObject(unknown);
      server.interfere(null);
      expect(await (await open()).exists(ref, brief())).toBe(true);
    },
  );

  it('takes a file that the credential may not see as one that is not there', async () => {
    server = await startSharepoint();
    const file = server.drive.put('a.md', 'alpha');
    const ref = `${server.drive.id}/${file.id}`;
    server.hidden.add(file.id);
    expect(await (await open()).exists(ref, brief())).toBe(false);
    expect(await read(ref)).toEqual({ kind: 'gone' });
  });

  it('ends where folders have no end', async () => {
    server = await startSharepoint();
    let made = 0;
    server.interfere((request, response) => {
      if (!request.url?.includes('/items/')) return false;
      made += 1;
      response.writeHead(200, { 'content-type': 'application/json' });
      const folder = { id: `x${made}`, name: 'x', folder: {}, parentReference: { id: `x${made + 1}` } };
      response.end(JSON.stringify(folder));
      return true;
    });
    server.drive.put('a.md', 'alpha', { parentReference: { id: 'x0' } });
    expect((await first()).documents).toEqual([]);
    expect(made).toBe(200);
  });

  it.each(['resyncChangesApplyDifferences', 'resyncChangesUploadDifferences'])(
    'lists everything again when a token is refused with 410 and %s',
    async (code) => {
      server = await startSharepoint();
      for (let at = 0; at < 250; at += 1) server.drive.put(`n${at}.md`, 'x');
      const source = await open();
      const { next } = await source.list({ cursor: null, checkpoint: null }, brief());
      const { checkpoint } = await listAll(source);
      server.expire(code);
      const expired = { name: 'SourceFailure', code: 'cursor_expired' };
      await expect(source.list({ cursor: next, checkpoint: null }, brief())).rejects.toMatchObject(expired);
      await expect(source.list({ cursor: 'other', checkpoint }, brief())).rejects.toMatchObject(expired);
      expect(await listAll(source, checkpoint)).toMatchObject({
        scope: 'everything',
        documents: { length: 250 },
      });
    },
  );

  it('lists everything when a checkpoint is of another scope, too old, or cannot be read', async () => {
    server = await startSharepoint();
    server.drive.put('a.md', 'alpha');
    const { checkpoint } = await listAll(await open());
    expect(await listAll(await open(), checkpoint)).toMatchObject({ scope: 'changes' });
    for (const [scope, text] of [
      [{ include: ['*.md'] }, checkpoint],
      [{ relist_hours: 0 }, checkpoint],
      [{}, '{"key":1}'],
      [{}, checkpoint!.replace('drives', 'me')],
    ] as const) {
      expect(await listAll(await open(scope), text)).toMatchObject({
        scope: 'everything',
        documents: { length: 1 },
      });
    }
  });

  it('takes no place that would become part of the name of a host', () => {
    const times = { whole: new Date().toISOString(), ended: new Date().toISOString() };
    const begun = (link: string) =>
      beginState(JSON.stringify({ key: 'k', links: [link], ...times }), {
        key: 'k',
        count: 1,
        relistHours: 24,
      });
    expect(begun('/drives/x/root/delta').links).toEqual(['/drives/x/root/delta']);
    expect(begun('@elsewhere.example/drives').links).toEqual([null]);
    expect(begun('.elsewhere.example/drives').links).toEqual([null]);
  });

  it('lists everything when the listing before is of a time that is still to come', () => {
    const at = (whole: string) =>
      beginState(JSON.stringify({ key: 'k', links: ['/x'], whole, ended: whole }), {
        key: 'k',
        count: 1,
        relistHours: 24,
      }).before;
    expect(at(new Date(Date.now() - 60_000).toISOString())).not.toBeNull();
    expect(at(new Date(Date.now() + 86_400_000).toISOString())).toBeNull();
    expect(at('no time')).toBeNull();
  });

  it('cuts a listing at the limit of its files', async () => {
    server = await startSharepoint();
    for (let at = 0; at < 3; at += 1) server.drive.put(`n${at}.md`, 'x');
    const cut = { documents: { length: 2 }, truncated: true, checkpoint: null };
    expect(await listAll(await open({ max_documents: 2 }))).toMatchObject(cut);
    expect(await listAll(await open({ max_documents: 3 }))).toMatchObject({ truncated: false });
  });

  it('ends listings whose page repeats, and refuses those that do not say where they go on', async () => {
    server = await startSharepoint();
    const link = `${server.origin}/v1.0/drives/${server.drive.id}/root/delta?token=again`;
    answerDelta({ value: [], '@odata.nextLink': link });
    expect(await listAll(await open())).toMatchObject({ truncated: true, checkpoint: null, pages: 2 });
    answerDelta({ value: [] });
    await expect(first()).rejects.toMatchObject({ code: 'source_invalid' });
  });
});
