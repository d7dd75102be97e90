import { afterEach, describe, expect, it } from 'vitest';
import { Folders } from '#adapters/sources/sharepoint/folders.ts';
import { GraphClient } from '#adapters/sources/sharepoint/graph-client.ts';
import { sharepointProvider } from '#adapters/sources/sharepoint/provider.ts';
import {
  answerChanges,
  openSharepoint,
  startSharepoint,
  type SharepointServer,
} from '../../support/sources/sharepoint-server.ts';

const brief = () => AbortSignal.timeout(20_000);
const long = 'x'.repeat(1_048_576);

let server: SharepointServer;
afterEach(() => server?.close());
const open = (scope: object = {}) => openSharepoint(server, scope);
const first = async (scope: object = {}) =>
  (await open(scope)).list({ cursor: null, checkpoint: null }, brief());

describe('names of SharePoint without end', () => {
  const file = (id: string, name: string, parent: string) => ({
    id,
    name,
    parentReference: { id: parent },
    file: { hashes: { sha256Hash: id } },
  });
  const folder = (id: string, name: string, parent: string) => ({
    id,
    name,
    parentReference: { id: parent },
    folder: {},
  });
  const answer = (value: object[]) => {
    const root = { id: server.drive.root.id, name: 'root', root: {}, folder: {} };
    const link = `${server.origin}/v1.0/drives/${server.drive.id}/root/delta?token=x`;
    answerChanges(server, { value: [root, ...value], '@odata.deltaLink': link });
    return root.id;
  };

  it('leaves out files whose folder has one, with no request for them, and lists the others', async () => {
    server = await startSharepoint();
    const files = Array.from({ length: 1_000 }, (_, n) => file(`f${n}`, `${n}.md`, 'deep'));
    const root = server.drive.root.id;
    answer([folder('long', long, root), folder('deep', 'deep', 'long'), ...files, file('a', 'a.md', root)]);
    server.asked.length = 0;
    expect((await first()).documents.map(({ name }) => name)).toEqual(['Documents/a.md']);
    expect(server.asked.filter((path) => path.includes('/items/'))).toEqual([]);
  });

  it('compares none with patterns', async () => {
    server = await startSharepoint();
    const root = server.drive.root.id;
    // A name with many parts would be as many names.
    const parts = file('parts', `${'a/'.repeat(499)}x`, root);
    answer([file('long', `${long}.txt`, root), parts, file('a', 'a.md', root)]);
    const include = Array.from({ length: 50 }, (_, n) => `*${'x'.repeat(150)}${n}.md`);
    const began = Date.now();
    const { documents } = await first({ include: [...include.slice(2), '*.md', 'a/**'] });
    expect(documents.map(({ name }) => name)).toEqual(['Documents/a.md']);
    expect(Date.now() - began).toBeLessThan(3_000);
  });

  it('leaves out files whose path is longer than any of the service', async () => {
    server = await startSharepoint();
    const root = server.drive.root.id;
    const folders = Array.from({ length: 30 }, (_, n) =>
      folder(`d${n}`, 'x'.repeat(100), n === 0 ? root : `d${n - 1}`),
    );
    answer([...folders, file('a', 'a.md', 'd29'), file('b', 'b.md', 'd5'), file('c', 'x'.repeat(900), 'd5')]);
    expect((await first()).documents.map(({ ref }) => ref.split('/')[1])).toEqual(['b']);
  });

  it('refuses a library that has one', async () => {
    server = await startSharepoint();
    server.drive.name = long;
    await expect(first()).rejects.toMatchObject({ code: 'source_invalid' });
  });
});

describe('members of items of SharePoint', () => {
  it.each([1.5, 1e300, -1, '6'])('have no size when it is %s', async (size) => {
    server = await startSharepoint();
    server.drive.put('a.md', 'alpha', { size });
    expect((await first()).documents).toMatchObject([{ byteSize: null }]);
  });

  it('hold no characters that the database refuses', async () => {
    server = await startSharepoint();
    const bad = 'a\0\ud800b';
    const hashes = { sha256Hash: bad };
    server.drive.put('1.md', 'x', {
      name: bad,
      webUrl: `https://x/${bad}`,
      file: { hashes, mimeType: bad },
    });
    server.drive.put('2.md', 'x', { eTag: bad, file: {} });
    const { documents } = await first();
    expect(documents).toHaveLength(2);
    for (const text of documents.flatMap((each) => Object.values(each)).filter((x) => typeof x === 'string'))
      expect(text).not.toMatch(/\0|\p{Surrogate}/u);
  });
});

describe('folders of files of one page', () => {
  it('are asked for up to a limit, which other searches at the same time do not change', async () => {
    server = await startSharepoint();
    for (let at = 0; at < 4; at += 1) server.drive.put(`d${at}/deep/a.md`, 'x');
    const access = { fetch, credential: { kind: 'bearer', token: 'first-token' } };
    const client = new GraphClient(sharepointProvider.scope.parse(server.scopeConfig), access as never);
    const files = server.drive.items
      .filter(({ content }) => content !== null)
      .map(({ id, name, parent }) => ({ id, name, parentReference: { id: parent!.id } }));
    const find = (some: typeof files, folders = new Folders(client, server.drive.id, { requests: 3 })) =>
      folders.paths(some, brief());
    await expect(find(files)).rejects.toMatchObject({ code: 'source_invalid' });
    const shared = new Folders(client, server.drive.id, { requests: 3 });
    const found = await Promise.all(files.map((each) => find([each], shared)));
    expect(found.map(({ size }) => size)).toEqual([1, 1, 1, 1]);
  });
});
