import { afterEach, expect, test } from 'vitest';
import { webdavProvider } from '#adapters/sources/webdav/provider.ts';
import { mulberry32 } from '#test/support/model-script.ts';
import { listAll, openSource } from '#test/support/sources/open-source.ts';
import { startWebdavServer, withoutWebdav, type WebdavServer } from '#test/support/sources/webdav-server.ts';

const servers: WebdavServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

const rounds = 100;
const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000);

for (const kind of ['apache2', 'rclone'] as const) {
  const missing = withoutWebdav(kind);
  test.skipIf(missing !== null)(
    `${rounds} rounds of edits, moves and deletions at ${kind} (seed ${seed})${missing === null ? '' : `: ${missing}`}`,
    { timeout: 240_000 },
    async () => {
      const server = await startWebdavServer(kind);
      servers.push(server);
      const random = mulberry32(seed);
      const pick = <T>(items: readonly T[]): T | undefined => items[Math.floor(random() * items.length)];
      const fresh = () =>
        `${pick(['', 'a/', 'a/b/', 'ä/', 'z z/%/'])}${Math.floor(random() * 1e9).toString(36)}.md`;
      const model = new Map<string, string>();
      const copies = new Map<string, { version: string | null; content: string }>();
      for (let round = 0; round < rounds; round += 1) {
        for (let edits = Math.floor(random() * 6); edits > 0; edits -= 1) {
          const [name, act, content] = [pick([...model.keys()]), random(), String(random())];
          if (name === undefined || act < 0.45) {
            const added = random() < 0.03 ? Array.from({ length: 110 }, fresh) : [fresh()];
            for (const each of added) {
              await server.put(each, content);
              model.set(each, content);
            }
          } else if (act < 0.65) {
            await server.put(name, content);
            model.set(name, content);
          } else if (act < 0.85) {
            const to = fresh();
            await server.move(name, to);
            model.set(to, model.get(name) ?? '');
            model.delete(name);
          } else {
            await server.remove(name);
            model.delete(name);
          }
        }
        const source = await openSource(webdavProvider, server);
        const listing = await listAll(source);
        expect(listing.truncated).toBe(false);
        expect(listing.documents.map(({ ref }) => ref).toSorted()).toEqual([...model.keys()].toSorted());
        for (const { ref, version, mediaType } of listing.documents) {
          const copy = copies.get(ref);
          if (copy !== undefined && version !== null && copy.version === version) continue;
          const fetched = await source.fetch(
            { ref, version: copy?.version ?? null, mediaType, maxBytes: 100 },
            AbortSignal.timeout(30_000),
          );
          const content = fetched.kind === 'content' ? Buffer.from(fetched.content).toString() : fetched.kind;
          copies.set(ref, { version, content });
        }
        for (const ref of copies.keys()) if (!model.has(ref)) copies.delete(ref);
        const contents = [...copies].map(([ref, { content }]) => [ref, content] as const);
        expect(new Map(contents), `round ${round}`).toEqual(model);
      }
    },
  );
}
