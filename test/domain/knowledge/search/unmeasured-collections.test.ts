import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '#domain/foundation/kernel/ids.ts';
import type { DocumentFilter } from '#domain/knowledge/search/document-filter.ts';
import { matchKeywords } from '#domain/knowledge/search/match-keywords.ts';
import { openWorld, type KnowledgeWorld, type SpaceFixture } from '#test/support/knowledge-world.ts';

let world: KnowledgeWorld;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(async () => world.stop());

/** Collections whose words nobody has counted: each has one passage with "zebra", and "harbour" in all of them. */
async function fill({ tenantId, spaceId }: SpaceFixture, collections: number, passages: number) {
  const ids = Array.from({ length: collections }, () => newId());
  const documents = ids.map(() => newId());
  await world.admin.query('set session_replication_role = replica');
  await world.admin.query(
    `with placed as (
       insert into collections (tenant_id, id, space_id, name, text_search_config, created_by, chunk_count)
       select $1, id, $2, 'C', 'english', $2, $5 from unnest($3::uuid[]) id),
     held as (
       insert into documents (tenant_id, id, collection_id, filename, media_type, status, content_hash, byte_size,
         chunk_count, created_by, generation)
       select $1, d, c, 'a.txt', 'text/plain', 'ready', '', 1, $5, $2, 1 from unnest($4::uuid[], $3::uuid[]) u(d, c))
     insert into chunks (tenant_id, document_id, generation, position, collection_id, text, start_offset, end_offset, config)
     select $1, d, 1, n, c, 'harbour' || case n when 7 then ' zebra' else '' end, 0, 1, 'english'
     from unnest($4::uuid[], $3::uuid[]) u(d, c), generate_series(0, $5::integer - 1) n`,
    [tenantId, spaceId, ids, documents, passages],
  );
  await world.admin.query('set session_replication_role = origin');
  return ids;
}

const match = (
  { tenantId }: SpaceFixture,
  collectionIds: string[],
  question: string,
  limit: number,
  filter: DocumentFilter = {},
) =>
  world.unitOfWork.inTenant(tenantId, (em) =>
    matchKeywords(em, { tenantId, collectionIds, question, filter, reading: null, limit }),
  );

describe('the search in many collections without statistics', () => {
  it('ranks the passages with the rare word of a question alone', async () => {
    const space = await world.addSpace();
    const ids = await fill(space, 4, 1_500);
    const hits = await match(space, ids, 'harbour zebra', 200);
    expect(hits.map(({ position }) => position)).toEqual([7, 7, 7, 7]);
    expect(hits[0]?.coverage).toBe(1);
    // They are few enough for all of them to be ranked.
    expect(await match(space, ids.slice(0, 2), 'harbour zebra', 200)).toHaveLength(200);
  });

  it('counts in some of very many, and leaves no word out', async () => {
    const space = await world.addSpace();
    const ids = await fill(space, 120, 30);
    expect(await match(space, ids, 'harbour zebra', 200)).toHaveLength(120);
    const words = Array.from({ length: 20 }, (_, n) => `unheardofword${n}`).join(' ');
    expect(await match(space, ids, `${words} zebra`, 200)).toHaveLength(120);
  });

  it('ranks at most 20,000 passages, whatever the question', async () => {
    const space = await world.addSpace();
    const ids = await fill(space, 11, 1_900);
    expect(await match(space, ids, 'harbour', 1_000_000)).toHaveLength(20_000);
  });

  it('ranks what a filter leaves of more passages than that', async () => {
    const space = await world.addSpace();
    const ids = await fill(space, 11, 1_900);
    for (const id of [ids[0]!, ids[5]!, ids[10]!]) {
      await world.admin.query(`update documents set metadata = '{"kind": "log"}' where collection_id = $1`, [
        id,
      ]);
      const hits = await match(space, ids, 'harbour', 1_000_000, { metadata: { kind: 'log' } });
      expect(hits).toHaveLength(1_900);
      await world.admin.query(`update documents set metadata = '{}' where collection_id = $1`, [id]);
    }
  });
});
