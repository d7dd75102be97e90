import { setImmediate as othersTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { toPage } from '#adapters/sources/mcp/listing.ts';
import { uriFilter } from '#adapters/sources/mcp/uri-patterns.ts';

it('a long list whose addresses and patterns repeat themselves gives others their turn', async () => {
  const uri = (n: number) => `x:${'a'.repeat(1_900)}${n}`;
  const patterns = Array.from({ length: 50 }, (_, n) => `x:*${'a'.repeat(200 + n)}b${'a'.repeat(240)}*`);
  const resources = Array.from({ length: 500 }, (_, n) => ({ uri: uri(n), name: `${n}` }));
  resources.push({ uri: 'x:fits', name: 'fits' });
  const listed = new AbortController();
  let maxTurnMs = 0;
  const others = (async () => {
    for (let before = performance.now(); !listed.signal.aborted; before = performance.now()) {
      await othersTurn();
      maxTurnMs = Math.max(maxTurnMs, performance.now() - before);
    }
  })();
  const began = performance.now();
  const page = await toPage({ resources }, uriFilter([...patterns, '*fits']));
  const allMs = performance.now() - began;
  listed.abort();
  await others;
  expect(page.documents.map(({ ref }) => ref)).toEqual(['x:fits']);
  expect(maxTurnMs).toBeLessThan(allMs / 4);
});
