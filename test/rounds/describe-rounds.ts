import { afterAll, beforeAll, expect, it } from 'vitest';
import { sourceFilename } from '#domain/knowledge/synchronisation/source-filename.ts';
import { mulberry32 } from '../support/model-script.ts';
import { ConnectorActors, type ServedConnector } from '../support/sources/connector-actors.ts';
import type { SourceServer } from '../support/sources/source-server.ts';
import { Dice, edit } from './edit.ts';
import { readTree, type Tree } from './tree.ts';

/** A server whose documents are files of a folder on this machine. */
export interface FolderServer {
  title: string;
  missing: string | null;
  start: () => Promise<{
    server: SourceServer;
    folder: string;
    /** More changes of a round. */
    change: (dice: Dice) => Promise<void>;
    /** Whether a file's version stays when the same text is written again. */
    comparesTexts: boolean;
  }>;
}

type Served = Awaited<ReturnType<FolderServer['start']>> & ServedConnector;

/** Random changes between whole runs; after each the collection is what the source is. */
export function describeRounds(
  servers: readonly FolderServer[],
  { rounds, seed, timeoutMs }: { rounds: number; seed: number; timeoutMs: number },
): void {
  let actors: ConnectorActors;
  beforeAll(async () => {
    actors = await ConnectorActors.open();
  }, 60_000);
  afterAll(() => actors.stop());

  for (const { title, missing, start } of servers) {
    // Runs wait more than they work.
    const test = missing === null ? it.concurrent : it.skip;
    test(
      `${title} holds what its source holds after each of ${rounds} rounds of random changes (SEED=${seed})${missing === null ? '' : `: ${missing}`}`,
      async () => {
        const started = await start();
        try {
          const served = { ...started, ...(await actors.connectTo(started.server)) };
          await playRounds(served, rounds, new Dice(mulberry32(seed)));
        } finally {
          await started.server.close();
        }
      },
      timeoutMs,
    );
  }
}

async function playRounds(served: Served, rounds: number, dice: Dice): Promise<void> {
  const { server, folder, change } = served;
  const past = new Map<string, string[]>();
  let before: Tree = new Map();
  for (let round = 0; round < rounds; round += 1) {
    await edit(server, before, { dice, past });
    await change(dice);
    const now = await readTree(folder);
    const mode = dice.random() < 0.08 ? 'full' : 'incremental';
    await expectRun(served, { before, now, mode, title: `round ${round}, ${mode}` });
    await expectFound(served, { before, now, dice });
    before = now;
  }
}

interface Round {
  before: Tree;
  now: Tree;
  mode: 'full' | 'incremental';
  title: string;
}

/** Documents without a text are left out. */
const shown = (tree: Tree): Record<string, string> =>
  Object.fromEntries(
    [...tree].filter(([, { text }]) => text !== '').map(([path, { text }]) => [sourceFilename(path), text]),
  );

async function expectRun(served: Served, { before, now, mode, title }: Round): Promise<void> {
  const { sync, space, comparesTexts, takeFetched } = served;
  const isNew = (path: string) => before.get(path)?.text !== now.get(path)?.text;
  const mayBeFetched = (path: string) =>
    mode === 'full' || isNew(path) || (!comparesTexts && before.get(path)?.stamp !== now.get(path)?.stamp);
  const changed = [...now.keys()].filter((path) => isNew(path) && now.get(path)?.text !== '');
  const gone = Object.keys(shown(before)).filter((path) => shown(now)[path] === undefined);

  takeFetched();
  const run = await sync({ mode });
  expect(run, title).toMatchObject({ failed: 0, isTruncated: false });
  expect(run.added + run.updated, title).toBe(changed.length);
  expect(
    takeFetched().filter((path) => !mayBeFetched(path)),
    title,
  ).toEqual([]);
  const allowed = [...now].filter(([path]) => mayBeFetched(path));
  expect(run.bytes, title).toBeLessThanOrEqual(
    allowed.reduce((sum, [, { text }]) => sum + Buffer.byteLength(text), 0),
  );
  if (run.deletesHeld === 0) {
    expect(run, title).toMatchObject({ status: 'completed', deleted: gone.length });
  } else {
    // More than the guard lets a run delete: a person looks at it, and confirms.
    expect(run, title).toMatchObject({
      status: 'completed_with_errors',
      errorCode: 'deletion_guard',
      deleted: 0,
    });
    const confirmed = await sync({ confirmDeletions: true });
    expect(confirmed, title).toMatchObject({
      status: 'completed',
      added: 0,
      updated: 0,
      deleted: gone.length,
      bytes: 0,
    });
    // A text that is empty now may be readable again: its deletion is held, so each run fetches it.
    const isEmptied = (path: string) => gone.includes(sourceFilename(path)) && now.has(path);
    expect(
      takeFetched().filter((path) => !isEmptied(path)),
      title,
    ).toEqual([]);
  }
  expect(await space.contents(), title).toEqual(shown(now));
}

const searches = 2;

/** The search finds words of some changed documents, and none of texts that are gone. */
async function expectFound(
  { space }: Served,
  { before, now, dice }: { before: Tree; now: Tree; dice: Dice },
): Promise<void> {
  const wordsOf = (tree: Tree) =>
    new Set([...tree.values()].flatMap(({ text }) => /word\d+/.exec(text)?.[0] ?? []));
  const [old, current] = [wordsOf(before), wordsOf(now)];
  const come = [...current].filter((word) => !old.has(word));
  const left = [...old].filter((word) => !current.has(word));
  for (let n = 0; n < searches; n += 1) {
    const [word, former] = [dice.pick(come), dice.pick(left)];
    if (word !== undefined) {
      const texts = [...now.values()].map(({ text }) => text).filter((text) => text.includes(`${word}.`));
      expect(await space.find(word)).toEqual(texts);
    }
    if (former !== undefined) expect(await space.find(former)).toEqual([]);
  }
}
