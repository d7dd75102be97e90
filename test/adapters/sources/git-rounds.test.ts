import { afterAll, beforeAll, expect, test } from 'vitest';
import { gitProvider } from '#adapters/sources/git/provider.ts';
import { mulberry32 } from '#test/support/model-script.ts';
import { startGitServer, type GitServer } from '#test/support/sources/git-server.ts';
import { listAll, openSource, type WholeListing } from '#test/support/sources/open-source.ts';

let server: GitServer;
beforeAll(async () => {
  server = await startGitServer();
});
afterAll(() => server.close());

const rounds = 200;
const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000);

/** What a run does with a listing: by path, the version that it last saw. */
function apply(copies: Map<string, string>, listing: WholeListing): void {
  const seen = new Set(listing.documents.map(({ ref }) => ref));
  expect(seen.size).toBe(listing.documents.length);
  for (const { ref, version } of listing.documents) copies.set(ref, version ?? '');
  const gone =
    listing.scope === 'everything' ? [...copies.keys()].filter((ref) => !seen.has(ref)) : listing.gone;
  for (const ref of gone) {
    expect(copies.delete(ref)).toBe(true);
  }
}

async function truth(): Promise<Map<string, string>> {
  const lines = (await server.git('ls-tree', '-rz', 'HEAD')).split('\0').filter(Boolean);
  return new Map(
    lines.map((line) => {
      const [head = '', path = ''] = line.split('\t');
      return [path, head.split(' ')[2] ?? ''];
    }),
  );
}

test(
  `${rounds} rounds of edits, moves, deletions and force pushes (seed ${seed})`,
  { timeout: 240_000 },
  async () => {
    const random = mulberry32(seed);
    const pick = <T>(items: readonly T[]): T | undefined => items[Math.floor(random() * items.length)];
    const fresh = () =>
      `${pick(['', 'a/', 'a/b/', 'ä/', 'z z/'])}${Math.floor(random() * 1e9).toString(36)}.md`;
    const copies = new Map<string, string>();
    let checkpoint: string | null = null;
    const kinds = { everything: 0, changes: 0 };
    for (let round = 0; round < rounds; round += 1) {
      let names = [...(await truth()).keys()];
      for (let edits = Math.floor(random() * 6); edits > 0; edits -= 1) {
        const [name, act] = [pick(names), random()];
        if (name === undefined || act < 0.45) {
          await server.put(fresh(), String(random()));
          if (random() < 0.03) for (let more = 0; more < 130; more += 1) await server.put(fresh(), 'same');
        } else if (act < 0.65) {
          await server.put(name, String(random()));
        } else if (act < 0.85) {
          await server.move(name, fresh());
          names = names.filter((each) => each !== name);
        } else {
          await server.remove(name);
          names = names.filter((each) => each !== name);
        }
      }
      if (random() < 0.1) {
        const back = Math.min(Number(await server.git('rev-list', '--count', 'HEAD')) - 1, 3);
        await server.git('reset', '-q', '--hard', `HEAD~${back}`);
        if (random() < 0.5) {
          await server.git('reflog', 'expire', '--expire=now', '--all');
          await server.git('gc', '-q', '--prune=now');
        }
      }
      const source = await openSource(gitProvider, server);
      const listing: WholeListing = await listAll(source, checkpoint);
      apply(copies, listing);
      kinds[listing.scope] += 1;
      checkpoint = listing.checkpoint;
      expect(copies, `round ${round}`).toEqual(await truth());
      const some = pick(listing.documents);
      if (some !== undefined) {
        const fetched = await source.fetch(
          { ref: some.ref, version: null, mediaType: null, maxBytes: 100 },
          AbortSignal.timeout(30_000),
        );
        const content = fetched.kind === 'content' ? Buffer.from(fetched.content).toString() : fetched.kind;
        expect(content).toBe(await server.git('cat-file', 'blob', some.version ?? ''));
      }
    }
    expect(kinds.changes).toBeGreaterThan(100);
    expect(kinds.everything).toBeGreaterThan(0);
  },
);
