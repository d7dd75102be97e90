import { afterAll, beforeAll, expect, it } from 'vitest';
import { openWorld, type KnowledgeWorld } from '#test/support/knowledge-world.ts';
import { openMemorySteps } from '#test/support/sources/run-steps.ts';

let world: KnowledgeWorld;
beforeAll(async () => {
  world = await openWorld();
  await world.admin.query(`create table public.inserts (passages bigint);
    grant insert on public.inserts to public;
    create function public.note_insert() returns trigger language plpgsql as
      'begin insert into public.inserts select count(*) from added; return null; end';
    create trigger note_insert after insert on chunks referencing new table as added
      for each statement execute function public.note_insert()`);
});
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
  'stores $what in statements of 2,000 passages at most',
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
    const inserts = await world.admin.query<{ passages: string }>('select passages from public.inserts');
    expect(inserts.rows.length).toBeGreaterThan(1);
    expect(Math.max(...inserts.rows.map(({ passages }) => Number(passages)))).toBeLessThanOrEqual(2_000);
    expect(rows[0]!.characters).toBeGreaterThan(documents * length * 0.95);
  },
  300_000,
);
