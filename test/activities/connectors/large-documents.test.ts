import { afterAll, beforeAll, expect, it } from 'vitest';
import { openWorld, type KnowledgeWorld } from '#test/support/knowledge-world.ts';
import { openMemorySteps } from '#test/support/sources/run-steps.ts';

let world: KnowledgeWorld;
beforeAll(async () => {
  world = await openWorld();
}, 60_000);
afterAll(() => world.stop());

const words = Array.from({ length: 5_000 }, (_, n) => `word${n}${'x'.repeat(n % 9)}`);

/** A text of many different words. */
function textOf(length: number): string {
  const parts: string[] = [];
  for (let n = 0, size = 0; size < length; n += 1) {
    const part = `${words[(n * 7_919) % 5_000]} ${words[(n * 104_729) % 5_000]} number ${n} of the log. `;
    parts.push(part);
    size += part.length;
  }
  return parts.join('');
}

it.each([
  { what: 'a text of six million characters', documents: 1, length: 6_000_000 },
  { what: 'a hundred documents of 60,000 characters', documents: 100, length: 60_000 },
])(
  'stores $what, of which the words take longer than a statement of others may',
  async ({ documents, length }) => {
    const { source, space, begin, fetch } = await openMemorySteps(world);
    const text = textOf(length);
    for (let n = 0; n < documents; n += 1)
      source.put(`d${n}`, `Document ${n}. ${text}`, { name: `d${n}.txt` });
    source.put('z', 'Zeta.');
    await begin();
    expect(await fetch()).toMatchObject({ state: 'listed' });
    const { rows } = await world.admin.query<{ characters: number }>(
      `select sum(length(c.text))::int as characters from chunks c join documents d on d.id = c.document_id
       where d.collection_id = $1`,
      [space.collectionId],
    );
    expect(rows[0]!.characters).toBeGreaterThan(documents * length * 0.95);
  },
  300_000,
);
