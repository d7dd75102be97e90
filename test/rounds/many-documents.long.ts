import { afterAll, beforeAll, expect, it } from 'vitest';
import { ConnectorActors, type ServedConnector } from '../support/sources/connector-actors.ts';
import type { SourceServer } from '../support/sources/source-server.ts';
import { eachOf, expectHeld, makeDocuments, watchLiveMemory } from './many-documents.ts';
import { largeProviders, type LargeProvider } from './providers.ts';

/** Whole runs over so many documents of each provider; `-t git` chooses one. */
const count = Number(process.env['DOCUMENTS'] ?? 10_000);
const changedCount = Math.ceil(count / 100);
const remaining = 3;
const allowedMiB = 100;
const withinMs = 1_800_000;

let actors: ConnectorActors;
beforeAll(async () => {
  actors = await ConnectorActors.open();
}, 60_000);
afterAll(() => actors.stop());

for (const provider of largeProviders) {
  const { title, missing, start } = provider;
  it.skipIf(missing !== null)(
    `${title}: ${count} documents come, stay, change and go${missing === null ? '' : `: ${missing}`}`,
    async () => {
      const server = await start(count);
      try {
        await follow(provider, server, await actors.connectTo(server));
      } finally {
        await server.close();
      }
    },
    2 * withinMs,
  );
}

async function follow(
  provider: LargeProvider,
  server: SourceServer,
  { space, sync, takeFetched }: ServedConnector,
): Promise<void> {
  const { title, writers, replaces = false, neverDeletes = false, listsVersions = true } = provider;
  const all = makeDocuments(count);
  const put = (name: string) => server.put(name, all.get(name) ?? '');
  await eachOf(all.keys(), writers, put);
  const memoryMiB = watchLiveMemory();
  const measured: string[] = [];
  const run = async (what: string, more: Parameters<typeof sync>[0] = {}) => {
    const [begun, before] = [performance.now(), server.requests()];
    takeFetched();
    const ended = await sync(more, withinMs);
    const fetched = new Set(takeFetched()).size;
    const requests = server.requests() - before;
    measured.push(`${what} ${((performance.now() - begun) / 1_000).toFixed(1)} s, ${requests} requests`);
    return { ended, requests, fetched };
  };
  const allowed = provider.idleRequests(count) + count / 1_000;
  try {
    const first = await run('first run');
    expect(first.ended).toMatchObject({ status: 'completed', added: count, failed: 0, skipped: 0 });
    await expectHeld(space, all, provider);

    const idle = await run('unchanged');
    expect(idle.ended).toMatchObject({ status: 'completed', added: 0, updated: 0, deleted: 0, bytes: 0 });
    if (listsVersions) expect(idle.fetched).toBe(0);
    expect(idle.requests).toBeLessThanOrEqual(allowed);

    const changed = [...all.keys()].filter((_, n) => n % 100 === 0);
    for (const name of changed) all.set(name, `It says new${name.replaceAll(/\D/g, '')}x now.`);
    await eachOf(changed, writers, put);
    const some = await run('1 % changed');
    const counts = replaces
      ? { added: changedCount, updated: 0, deleted: changedCount }
      : { added: 0, updated: changedCount, deleted: 0 };
    expect(some.ended).toMatchObject({ status: 'completed', failed: 0, ...counts });
    if (listsVersions) expect(some.fetched).toBeLessThanOrEqual(changedCount);
    expect(some.requests).toBeLessThanOrEqual(2 * allowed + 3 * changedCount);
    await expectHeld(space, all, provider);
    expect(await space.find('word0x')).toEqual([]);
    expect(await space.find('new00x')).toHaveLength(1);

    const removed = [...all.keys()].slice(remaining);
    await eachOf(removed, writers, (name) => server.remove(name));
    if (neverDeletes) {
      expect((await run('nearly all gone')).ended).toMatchObject({ status: 'completed', deleted: 0 });
      await expectHeld(space, all, provider);
    } else {
      expect((await run('nearly all gone')).ended).toMatchObject({
        errorCode: 'deletion_guard',
        deleted: 0,
        deletesHeld: removed.length,
      });
      await expectHeld(space, all, provider);
      const confirmed = await run('confirmed', { confirmDeletions: true });
      expect(confirmed.ended).toMatchObject({ status: 'completed', deleted: removed.length, bytes: 0 });
      for (const name of removed) all.delete(name);
      await expectHeld(space, all, provider);
      expect(await space.find(`word${count - 1}x`)).toEqual([]);
    }
  } finally {
    const grown = memoryMiB();
    console.log(`${title}: ${[...measured, `memory + ${grown} MiB`].join('; ')}`);
    expect.soft(grown).toBeLessThanOrEqual(allowedMiB);
  }
}
