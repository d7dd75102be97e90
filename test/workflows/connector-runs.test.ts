import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { sourceFilename } from '#domain/knowledge/synchronisation/source-filename.ts';
import { ConnectorActors, type ServedConnector } from '#test/support/sources/connector-actors.ts';
import { startGitServer } from '#test/support/sources/git-server.ts';
import { oddNames } from '#test/support/sources/odd-names.ts';
import { startS3Server } from '#test/support/sources/s3-server.ts';
import type { SourceServer } from '#test/support/sources/source-server.ts';
import { startWebdavServer, withoutWebdav } from '#test/support/sources/webdav-server.ts';

/** Whole runs against a real server of each provider. */
interface ServedProvider {
  title: string;
  /** Why the server cannot run here; null: it can. */
  missing: string | null;
  start: () => Promise<SourceServer>;
}

const provided: readonly ServedProvider[] = [
  { title: 'git', missing: null, start: () => startGitServer({ secured: true }) },
  {
    title: 'webdav (Apache)',
    missing: withoutWebdav('apache2'),
    start: () => startWebdavServer('apache2', { secured: true }),
  },
  { title: 's3', missing: null, start: () => startS3Server() },
  { title: 'webdav (rclone)', missing: withoutWebdav('rclone'), start: () => startWebdavServer('rclone') },
];

let actors: ConnectorActors;
const servers: SourceServer[] = [];

beforeAll(async () => {
  actors = await ConnectorActors.open();
}, 60_000);
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});
afterAll(() => actors.stop());

/** More than the guard lets a run delete unasked. */
const many = Object.fromEntries(
  Array.from({ length: 24 }, (_, n) => [`folder ${n % 3}/d${n}.md`, `Document ${n} is about word${n}.`]),
);

async function putAll(server: SourceServer, documents: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(documents)) await server.put(name, text);
}

/** The requests that `work` makes at the server. */
async function requestsOf<T>(server: SourceServer, work: () => Promise<T>): Promise<[T, number]> {
  const before = server.requests();
  return [await work(), server.requests() - before];
}

for (const { title, missing, start } of provided) {
  describe.skipIf(missing !== null)(`${title}${missing === null ? '' : `: ${missing}`}`, () => {
    const serve = async (documents: Readonly<Record<string, string>>) => {
      const server = await start();
      servers.push(server);
      await putAll(server, documents);
      return { server, ...(await actors.connectTo(server)) };
    };

    it('follows what is added, changed, moved and deleted, and fetches nothing that is not new', async () => {
      const { server, space, sync } = await serve({ ...many, 'a.md': 'Albatross.', 'b/c.md': 'Cormorant.' });
      expect(await sync()).toMatchObject({ status: 'completed', added: 26, failed: 0, skipped: 0 });
      expect(await space.read()).toMatchObject({ status: 'active' });
      expect(await space.contents()).toEqual({ ...many, 'a.md': 'Albatross.', 'b/c.md': 'Cormorant.' });
      expect(await space.find('albatross')).toEqual(['Albatross.']);

      const [idle, requests] = await requestsOf(server, sync);
      expect(idle).toMatchObject({ status: 'completed', added: 0, updated: 0, deleted: 0, bytes: 0 });
      // Its check and its listing of five folders.
      expect(requests).toBeLessThan(10);

      await server.put('a.md', 'Razorbill.');
      await server.put('new/d.md', 'Dunlin.');
      await server.move('b/c.md', 'moved/c.md');
      await server.remove('folder 0/d0.md');
      const [changed, few] = await requestsOf(server, sync);
      expect(changed).toMatchObject({ status: 'completed', added: 2, updated: 1, deleted: 2, failed: 0 });
      expect(few).toBeLessThan(20);
      const { 'folder 0/d0.md': _, ...left } = many;
      const now = { ...left, 'a.md': 'Razorbill.', 'moved/c.md': 'Cormorant.', 'new/d.md': 'Dunlin.' };
      expect(await space.contents()).toEqual(now);
      for (const gone of ['albatross', 'word0']) expect(await space.find(gone)).toEqual([]);
      expect(await space.find('razorbill')).toEqual(['Razorbill.']);
      expect(await space.find('cormorant')).toEqual(['Cormorant.']);
    }, 120_000);

    it('keeps the documents of a source that was emptied until a person confirms it', async () => {
      const { server, space, sync } = await serve(many);
      await sync();
      for (const name of Object.keys(many)) await server.remove(name);
      expect(await sync()).toMatchObject({
        status: 'completed_with_errors',
        errorCode: 'deletion_guard',
        deleted: 0,
        deletesHeld: 24,
      });
      expect(await space.contents()).toEqual(many);
      expect(await space.find('word7')).toEqual([many['folder 1/d7.md']]);
      expect(await sync({ confirmDeletions: true })).toMatchObject({ status: 'completed', deleted: 24 });
      expect(await space.contents()).toEqual({});
      expect(await space.find('word7')).toEqual([]);
    }, 120_000);

    it('goes on when the server was away for some seconds of a run', async () => {
      const { server, space, begin, end } = await serve(many);
      const before = server.requests();
      const id = await begin();
      await expect
        .poll(() => server.requests() - before, { timeout: 30_000, interval: 5 })
        .toBeGreaterThan(6);
      await server.stop();
      await sleep(2_500);
      await server.start();
      expect(await end(id)).toMatchObject({ status: 'completed', added: 24, failed: 0 });
      expect(await space.contents()).toEqual(many);
    }, 120_000);

    it('keeps names in ten scripts and with special characters, and finds what they name', async () => {
      const texts = Object.fromEntries(oddNames.map((name, n) => [name, `The note${n} is here.`]));
      const { space, sync } = await serve(texts);
      expect(await sync()).toMatchObject({ status: 'completed', added: oddNames.length, failed: 0 });
      const refs = (await space.documents()).map(({ ref, state }) => `${state} ${ref}`);
      expect(refs.toSorted()).toEqual(oddNames.map((name) => `stored ${name}`).toSorted());
      const shown = oddNames.map((name) => [sourceFilename(name), texts[name]]);
      expect(await space.contents()).toEqual(Object.fromEntries(shown));
      expect(await space.find('note3')).toEqual(['The note3 is here.']);
      expect(await sync()).toMatchObject({ status: 'completed', added: 0, updated: 0, deleted: 0, bytes: 0 });
    }, 120_000);

    it('waits for a person when the credential is refused, and goes on with the renewed one', async (test) => {
      const { server, ...connector } = await serve({ 'a.md': 'Albatross.' });
      test.skip(server.renewCredential === undefined || server.credential === null, 'no credential');
      const { space, sync } = connector;
      await sync();
      const renewed = await server.renewCredential?.();
      await server.put('a.md', 'Razorbill.');
      expect(await sync()).toMatchObject({ status: 'failed', errorCode: 'auth_failed' });
      expect(await space.read()).toMatchObject({ status: 'auth_required', statusReason: 'auth_failed' });
      expect(await space.contents()).toEqual({ 'a.md': 'Albatross.' });
      await expect(sync()).rejects.toMatchObject({ code: 'invalid_state' });
      if (renewed !== undefined) await space.rotate(renewed);
      expect(await resumed(connector)).toMatchObject({ status: 'completed', updated: 1 });
      expect(await space.read()).toMatchObject({ status: 'active', statusReason: null });
      expect(await space.find('razorbill')).toEqual(['Razorbill.']);
      expect(await space.find('albatross')).toEqual([]);
    }, 120_000);
  });
}

/** A person makes the connector active: the run that this begins. */
async function resumed({ space, handle, end }: ServedConnector) {
  await space.update({ status: 'active' });
  await handle.signal('configChanged');
  const [run] = await space.runs();
  expect(run?.trigger).toBe('config_change');
  return end(run?.id ?? '');
}
