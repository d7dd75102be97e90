import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { filesystemProvider } from '#adapters/sources/filesystem/provider.ts';
import { openWorld, type KnowledgeWorld } from '#test/support/knowledge-world.ts';
import type { ConnectorSpace } from '#test/support/sources/connector-space.ts';
import { openMemorySteps, openSteps } from '#test/support/sources/run-steps.ts';

let world: KnowledgeWorld;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.stop());

const readersIn = async ({ collectionId }: ConnectorSpace) =>
  (
    await world.admin.query<{ name: string; readers: string[] | null }>(
      'select filename as name, source_readers as readers from documents where collection_id = $1 order by 1',
      [collectionId],
    )
  ).rows;

describe('the readers of a document', () => {
  it('stay as they are when its content changes while the source names none', async () => {
    const { source, space, whole } = await openMemorySteps(world);
    source.put('a', 'Salaries.', { readers: { addresses: ['boss@example.org'], groups: [] } });
    await whole();
    source.put('a', 'Salaries, changed.');
    expect(await whole()).toMatchObject({ status: 'completed' });
    expect(await space.contents()).toEqual({ 'a.md': 'Salaries, changed.' });
    expect(await readersIn(space)).toEqual([{ name: 'a.md', readers: ['address:boss@example.org'] }]);
  });
});

describe('a folder whose file of readers is gone', () => {
  const manifest = '.readers.json';

  async function openFolder() {
    const root = await mkdtemp(join(tmpdir(), 'readers-'));
    let time = 1_000_000_000;
    const put = async (name: string, text: string) => {
      await writeFile(join(root, name), text);
      time += 10;
      await utimes(join(root, name), time, time);
    };
    const opened = await openSteps(world, filesystemProvider, {
      providerSlug: 'filesystem',
      scopeConfig: { root: 'r' },
      roots: { r: root },
    });
    return {
      ...opened,
      put,
      remove: (name: string) => rm(join(root, name)),
      close: () => rm(root, { recursive: true }),
    };
  }

  it('is not read, so that no document is shown to everybody, until it has one again', async () => {
    const { space, put, remove, close, whole, begin, fetch, finish } = await openFolder();
    try {
      await put('a.md', 'Salaries.');
      await put(manifest, JSON.stringify({ documents: { '/': { addresses: ['boss@example.org'] } } }));
      await whole();
      const before = [{ name: 'a.md', readers: ['address:boss@example.org'] }];
      expect(await readersIn(space)).toEqual(before);
      await remove(manifest);
      await put('a.md', 'Salaries, changed.');
      await put('b.md', 'New salaries.');
      await begin();
      await expect(fetch()).rejects.toMatchObject({ type: 'source_invalid', nonRetryable: true });
      await finish('failed');
      expect(await readersIn(space)).toEqual(before);
      await put(manifest, JSON.stringify({ documents: { '/': 'public' } }));
      expect(await whole()).toMatchObject({ status: 'completed' });
      expect(await readersIn(space)).toEqual([
        { name: 'a.md', readers: ['public'] },
        { name: 'b.md', readers: ['public'] },
      ]);
    } finally {
      await close();
    }
  });

  it('is read where it never had one', async () => {
    const { space, put, close, whole } = await openFolder();
    try {
      await put('a.md', 'Alpha.');
      await whole();
      await put('b.md', 'Beta.');
      expect(await whole()).toMatchObject({ status: 'completed' });
      expect(await readersIn(space)).toEqual([
        { name: 'a.md', readers: null },
        { name: 'b.md', readers: null },
      ]);
    } finally {
      await close();
    }
  });
});
