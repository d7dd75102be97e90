import { setTimeout as sleep } from 'node:timers/promises';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { filesystemProvider } from '#adapters/sources/filesystem/provider.ts';
import { startFilesystemServer } from '#test/support/sources/filesystem-server.ts';
import { listAll, openSource } from '#test/support/sources/open-source.ts';

const name = fc
  .tuple(fc.constantFrom('', 'a/', 'b/', 'a/c d/', 'é/'), fc.constantFrom('1.md', '2#.md', '3%.md', '文.md'))
  .map((parts) => parts.join(''));
const edit = fc.oneof(
  fc.record({
    kind: fc.constant('put' as const),
    name,
    text: fc.constantFrom('aaa', 'bbb', 'ccc', 'longer'),
  }),
  fc.record({ kind: fc.constant('move' as const), name, to: name }),
  fc.record({ kind: fc.constant('remove' as const), name }),
);

/** What a run would hold: listed versions decide what is read. */
it('holds what the folder holds after each of a hundred rounds of edits', { timeout: 120_000 }, async () => {
  const server = await startFilesystemServer();
  const signal = AbortSignal.timeout(120_000);
  const model = new Map<string, string>();
  const copies = new Map<string, { version: string | null; text: string }>();
  let reads = 0;
  const apply = async (change: typeof edit extends fc.Arbitrary<infer T> ? T : never) => {
    const text = model.get(change.name);
    if (change.kind === 'put') {
      await server.put(change.name, change.text);
      model.set(change.name, change.text);
    } else if (text !== undefined && change.kind === 'move' && change.to !== change.name) {
      await server.move(change.name, change.to);
      model.delete(change.name);
      model.set(change.to, text);
    } else if (text !== undefined && change.kind === 'remove') {
      await server.remove(change.name);
      model.delete(change.name);
    }
  };
  const rounds = fc.sample(fc.array(edit, { maxLength: 8 }), { numRuns: 100, seed: 7 });
  for (const [round, changes] of rounds.entries()) {
    for (const change of changes) {
      await apply(change);
    }
    if (round % 10 === 9) {
      await sleep(120);
    }
    const source = await openSource(filesystemProvider, server);
    const { documents } = await listAll(source);
    for (const { ref, version } of documents) {
      const copy = copies.get(ref);
      if (copy !== undefined && version !== null && copy.version === version) {
        continue;
      }
      const got = await source.fetch(
        { ref, version: copy?.version ?? null, mediaType: null, maxBytes: 100 },
        signal,
      );
      if (got.kind === 'content') {
        reads += 1;
        copies.set(ref, { version: got.version ?? version, text: Buffer.from(got.content).toString() });
      }
    }
    const listed = new Set(documents.map(({ ref }) => ref));
    for (const ref of [...copies.keys()].filter((each) => !listed.has(each))) {
      expect(await source.exists(ref, signal)).toBe(false);
      copies.delete(ref);
    }
    expect(Object.fromEntries([...copies].map(([ref, { text }]) => [ref, text]))).toEqual(
      Object.fromEntries(model),
    );
  }
  expect(reads).toBeGreaterThan(100);
  await server.close();
});
