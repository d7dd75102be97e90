import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { sourceFilename } from '#domain/knowledge/synchronisation/source-filename.ts';
import { ConnectorActors, type ServedConnector } from './connector-actors.ts';
import { oddNames } from './odd-names.ts';
import type { SourceServer } from './source-server.ts';

/** A provider with its real server; the rest says how it differs from one whose documents are files. */
export interface ServedProvider {
  title: string;
  /** Why the server cannot run here; null: it can. */
  missing: string | null;
  start: () => Promise<SourceServer>;
  /** The document's name. */
  nameOf?: (name: string) => string;
  /** The document's reference; null: it depends on more than its name. */
  refOf?: ((name: string, server: SourceServer) => string) | null;
  /** Names that the source cannot hold. */
  cannotHold?: readonly string[];
  /** A changed document is a new one, and the one before is deleted. */
  replaces?: boolean;
  /** A moved document stays the same one: it is neither added nor deleted. */
  followsMoves?: boolean;
  /** What the source no longer lists stays. */
  neverDeletes?: boolean;
  /** Requests of a run without changes over 26 documents; 9 by default. */
  idleRequests?: number;
  /** Requests of a run after which its server goes away for some seconds; 7 by default. */
  awayAfter?: number;
}

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

/** Whole runs of each provider against its server, from its first to a search. */
export function describeRuns(provided: readonly ServedProvider[]): void {
  let actors: ConnectorActors;
  const servers: SourceServer[] = [];

  beforeAll(async () => {
    actors = await ConnectorActors.open();
  }, 60_000);
  afterEach(async () => {
    await Promise.all(servers.splice(0).map((server) => server.close()));
  });
  afterAll(() => actors.stop());

  for (const provider of provided) describeProvider(provider, () => actors, servers);
}

function describeProvider(
  provider: ServedProvider,
  actors: () => ConnectorActors,
  servers: SourceServer[],
): void {
  const { title, missing, start, nameOf = (name) => name, refOf = (name) => name, awayAfter = 7 } = provider;
  const { replaces = false, neverDeletes = false, followsMoves = false } = provider;
  const { cannotHold = [], idleRequests = 9 } = provider;
  /** Names and texts of documents as the collection has them. */
  const shown = (documents: Readonly<Record<string, string>>) =>
    Object.fromEntries(
      Object.entries(documents).map(([name, text]) => [
        sourceFilename(nameOf(name)),
        expect.stringContaining(text) as unknown,
      ]),
    );
  const passages = (...texts: string[]) => texts.map((text) => expect.stringContaining(text) as unknown);
  describe.skipIf(missing !== null)(`${title}${missing === null ? '' : `: ${missing}`}`, () => {
    const serve = async (documents: Readonly<Record<string, string>>) => {
      const server = await start();
      servers.push(server);
      await putAll(server, documents);
      return { server, ...(await actors().connectTo(server)) };
    };

    it('follows what is added, changed, moved and deleted, and fetches nothing that is not new', async () => {
      const all: Record<string, string> = { ...many, 'a.md': 'Albatross.', 'b/c.md': 'Cormorant.' };
      const { server, space, sync } = await serve(all);
      expect(await sync()).toMatchObject({ status: 'completed', added: 26, failed: 0, skipped: 0 });
      expect(await space.read()).toMatchObject({ status: 'active' });
      expect(await space.contents()).toEqual(shown(all));
      expect(await space.find('albatross')).toEqual(passages('Albatross.'));

      const [idle, requests] = await requestsOf(server, sync);
      expect(idle).toMatchObject({ status: 'completed', added: 0, updated: 0, deleted: 0, bytes: 0 });
      expect(requests).toBeLessThanOrEqual(idleRequests);

      await server.put('a.md', 'Razorbill.');
      await server.put('new/d.md', 'Dunlin.');
      await server.move('b/c.md', 'moved/c.md');
      await server.remove('folder 0/d0.md');
      const [changed, few] = await requestsOf(server, sync);
      const moved = followsMoves ? 0 : 1;
      const deleted = neverDeletes ? 0 : 1 + moved;
      expect(changed).toMatchObject({
        status: 'completed',
        failed: 0,
        ...(replaces
          ? { added: 2 + moved, updated: 0, deleted: deleted + 1 }
          : { added: 1 + moved, updated: 1, deleted }),
      });
      expect(few).toBeLessThanOrEqual(idleRequests + 10);
      const { 'folder 0/d0.md': first, 'b/c.md': old, ...left } = all;
      const now = { ...left, 'a.md': 'Razorbill.', 'moved/c.md': 'Cormorant.', 'new/d.md': 'Dunlin.' };
      const kept = neverDeletes ? { 'folder 0/d0.md': first ?? '', 'b/c.md': old ?? '' } : {};
      expect(await space.contents()).toEqual(shown({ ...now, ...kept }));
      for (const gone of neverDeletes ? ['albatross'] : ['albatross', 'word0'])
        expect(await space.find(gone)).toEqual([]);
      expect(await space.find('razorbill')).toEqual(passages('Razorbill.'));
      expect(await space.find('cormorant')).toEqual(passages('Cormorant.'));
    }, 120_000);

    it.skipIf(neverDeletes)(
      'keeps the documents of a source that was emptied until a person confirms it',
      async () => {
        const { server, space, sync } = await serve(many);
        await sync();
        for (const name of Object.keys(many)) await server.remove(name);
        expect(await sync()).toMatchObject({
          status: 'completed_with_errors',
          errorCode: 'deletion_guard',
          deleted: 0,
          deletesHeld: 24,
        });
        expect(await space.contents()).toEqual(shown(many));
        expect(await space.find('word7')).toEqual(passages('about word7.'));
        expect(await sync({ confirmDeletions: true })).toMatchObject({ status: 'completed', deleted: 24 });
        expect(await space.contents()).toEqual({});
        expect(await space.find('word7')).toEqual([]);
      },
      120_000,
    );

    it('goes on when the server was away for some seconds of a run', async () => {
      const { server, space, begin, end } = await serve(many);
      const before = server.requests();
      if (awayAfter === 0) await server.stop();
      const id = await begin();
      await expect
        .poll(() => server.requests() - before, { timeout: 30_000, interval: 5 })
        .toBeGreaterThanOrEqual(awayAfter);
      if (awayAfter > 0) await server.stop();
      await sleep(2_500);
      await server.start();
      expect(await end(id)).toMatchObject({ status: 'completed', added: 24, failed: 0 });
      expect(await space.contents()).toEqual(shown(many));
    }, 120_000);

    it('keeps names in ten scripts and with special characters, and finds what they name', async () => {
      const names = oddNames.filter((name) => !cannotHold.includes(name));
      const texts = Object.fromEntries(names.map((name, n) => [name, `The note${n} is here.`]));
      const { server, space, sync } = await serve(texts);
      expect(await sync()).toMatchObject({ status: 'completed', added: names.length, failed: 0 });
      const documents = await space.documents();
      expect(documents.map(({ state }) => state)).toEqual(names.map(() => 'stored'));
      if (refOf !== null) {
        const refs = names.map((name) => refOf(name, server));
        expect(documents.map(({ ref }) => ref).toSorted()).toEqual(refs.toSorted());
      }
      expect(await space.contents()).toEqual(shown(texts));
      expect(await space.find('note3')).toEqual(passages('The note3 is here.'));
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
      expect(await space.contents()).toEqual(shown({ 'a.md': 'Albatross.' }));
      await expect(sync()).rejects.toMatchObject({ code: 'invalid_state' });
      if (renewed !== undefined) await space.rotate(renewed);
      expect(await resumed(connector)).toMatchObject({
        status: 'completed',
        [replaces ? 'added' : 'updated']: 1,
      });
      expect(await space.read()).toMatchObject({ status: 'active', statusReason: null });
      expect(await space.find('razorbill')).toEqual(passages('Razorbill.'));
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
