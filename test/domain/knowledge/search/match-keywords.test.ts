import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { createCollection } from '#domain/knowledge/collections/create-collection.ts';
import { deleteDocument } from '#domain/knowledge/collections/delete-document.ts';
import { uploadDocument } from '#domain/knowledge/collections/upload-document.ts';
import { finishIngestion } from '#domain/knowledge/ingestion/finish-ingestion.ts';
import { storePassages } from '#domain/knowledge/ingestion/store-passages.ts';
import { matchKeywords } from '#domain/knowledge/search/match-keywords.ts';
import { openWorld, type KnowledgeWorld, type SpaceFixture } from '#test/support/knowledge-world.ts';

let world: KnowledgeWorld;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(async () => world.stop());

async function collect(texts: readonly string[], known?: SpaceFixture, into = world) {
  const space = known ?? (await into.addSpace());
  const { collection } = await into.act(space, (ctx) => createCollection(ctx, { name: 'C' }));
  const documentId = await add(space, collection.id, texts, into);
  return { space, collectionId: collection.id, documentId };
}

async function add(space: SpaceFixture, collectionId: string, texts: readonly string[], into = world) {
  const content = texts.join('\n') || 'x';
  const { document } = await into.act(space, (ctx) =>
    uploadDocument(ctx, { collectionId, filename: 'a.txt', mediaType: 'text/plain', content }),
  );
  await store(space, document.id, texts, into);
  return document.id;
}

async function store({ tenantId }: SpaceFixture, documentId: string, texts: readonly string[], into = world) {
  const chunks = texts.map((text) => ({ heading: null, text, start: 0, end: 1, page: null, anchor: null }));
  await into.unitOfWork.inTenant(tenantId, async (em) => {
    await storePassages(em, { documentId, readingId: newId(), chunks });
    await finishIngestion(em, documentId, null);
  });
}

const match = (tenantId: string, collectionId: string, question: string) =>
  world.unitOfWork.inTenant(tenantId, (em) =>
    matchKeywords(em, {
      tenantId,
      collectionIds: [collectionId],
      question,
      filter: {},
      reading: null,
      limit: 200,
    }),
  );
const positions = async (texts: readonly string[], question: string) => {
  const { space, collectionId } = await collect(texts);
  return (await match(space.tenantId, collectionId, question)).map(({ position }) => position);
};

describe('matchKeywords', () => {
  it('weighs a rare word more than a frequent one', async () => {
    const texts = ['pump house', 'pump yard', 'pump shed', 'valve gate', 'pump tower'];
    expect((await positions(texts, 'pump valve'))[0]).toBe(3);
  });

  it('prefers a passage with more of a word, with diminishing returns, and a shorter one', async () => {
    const rest = 'oak elm ash fir yew';
    expect(await positions([`valve ${rest}`, `valve valve ${rest}`, 'gate'], 'valve')).toEqual([1, 0]);
    expect(await positions([`valve ${rest}`, 'valve', 'gate'], 'valve')).toEqual([1, 0]);
    const { space, collectionId } = await collect(['valve oak', 'valve valve oak', 'valve valve valve oak']);
    const scores = (await match(space.tenantId, collectionId, 'valve')).map(({ score }) => score);
    expect(scores[1]! - scores[2]!).toBeGreaterThan(scores[0]! - scores[1]!);
    expect(scores[0]).toBeLessThan(1);
  });

  it('lowers every score for a word that no passage has', async () => {
    const { space, collectionId } = await collect(['valve gate', 'pump house']);
    const [known] = await match(space.tenantId, collectionId, 'valve');
    const [unknown] = await match(space.tenantId, collectionId, 'valve zeppelin');
    expect(known?.coverage).toBe(1);
    expect(unknown?.coverage).toBeCloseTo(0.5, 6);
    // Scores are tanh of what is halved.
    expect(Math.atanh(unknown!.score)).toBeCloseTo(Math.atanh(known!.score) / 2, 6);
  });

  it('prefers a passage whose document has more of the words elsewhere', async () => {
    const { space, collectionId } = await collect(['valve gate', 'valve oak']);
    const related = await add(space, collectionId, ['valve elm', 'pump house']);
    const hits = await match(space.tenantId, collectionId, 'pump valve');
    const [first, ...rest] = hits.filter(
      ({ position, documentId }) => position === 0 || documentId !== related,
    );
    expect(first).toMatchObject({ documentId: related, position: 0 });
    expect(first!.score).toBeGreaterThan(Math.max(...rest.map(({ score }) => score)));
  });

  it('looks for the rarest words of a long question', async () => {
    // Words in the order of the alphabet, of which the last ones are the rarest.
    const frequent = Array.from({ length: 40 }, (_, n) => `aa${String.fromCharCode(97 + (n % 26))}${n}`).join(
      ' ',
    );
    const texts = Array.from({ length: 2_400 }, (_, n) => (n === 1_200 ? `${frequent} zebra` : frequent));
    const { space, collectionId } = await collect(texts);
    const [best] = await match(space.tenantId, collectionId, `${frequent} zebra`);
    expect(best).toMatchObject({ position: 1_200 });
  });

  it('finds nothing for words that are none, and takes any text for a question', async () => {
    const { space, collectionId } = await collect(["it's a c:\\valve 'quoted'"]);
    expect(await match(space.tenantId, collectionId, 'the of and')).toEqual([]);
    expect(await match(space.tenantId, collectionId, '')).toEqual([]);
    for (const question of ["it's quoted'", 'c:\\valve', "\\'", 'a & | ! :* <->', '%1$s $2']) {
      await match(space.tenantId, collectionId, question);
    }
    expect(await match(space.tenantId, collectionId, 'c:\\valve')).toHaveLength(1);
  });

  it('ranks only passages of the present reading', async () => {
    const { space, collectionId, documentId } = await collect(['valve one', 'valve two']);
    await world.admin.query(`update documents set status = 'processing' where id = $1`, [documentId]);
    await store(space, documentId, ['gate', 'valve three']);
    const hits = await match(space.tenantId, collectionId, 'valve');
    expect(hits.map(({ generation, position }) => [generation, position])).toEqual([[2, 1]]);
  });

  it("finds nothing of another tenant, by another tenant's ids either", async () => {
    const { space, collectionId } = await collect(['the secret valve']);
    const other = await world.addSpace();
    expect(await match(other.tenantId, collectionId, 'secret valve')).toEqual([]);
    const asOther = await world.unitOfWork.inTenant(other.tenantId, (em) =>
      matchKeywords(em, {
        tenantId: space.tenantId,
        collectionIds: [collectionId],
        question: 'secret valve',
        filter: {},
        reading: null,
        limit: 10,
      }),
    );
    expect(asOther).toEqual([]);
    expect(await match(space.tenantId, collectionId, 'secret valve')).toHaveLength(1);
  });

  it('ranks no passage of another tenant, whose text would be withheld only after that', async () => {
    const { space, collectionId } = await collect(['the secret valve']);
    const other = await world.addSpace();
    const ranked = (tenantId: string) =>
      world.unitOfWork.inTenant(tenantId, (em) =>
        em.execute(
          `select position from app.rank_passages_of_language(
             'english', array[?]::uuid[], array['secret'], array[null]::float8[], 1, 1, null, null, null, 10)`,
          [collectionId],
        ),
      );
    expect(await ranked(other.tenantId)).toEqual([]);
    expect(await ranked(space.tenantId)).toEqual([{ position: 0 }]);
  });

  it('counts the words of a large document that the statistics of PostgreSQL do not know yet', async () => {
    const fresh = await openWorld();
    await fresh.admin.query('alter table chunks set (autovacuum_enabled = false)');
    const texts = Array.from({ length: 30_000 }, (_, n) => `pump n${n}`);
    const { collectionId } = await collect(texts, undefined, fresh);
    const { rows } = await fresh.admin.query(
      'select lexeme, df from lexeme_stats where collection_id = $1 order by df desc limit 1',
      [collectionId],
    );
    expect(rows).toEqual([{ lexeme: 'pump', df: 30_000 }]);
    await fresh.stop();
  });

  it('estimates how frequent words are in a large collection, and follows its size', async () => {
    const texts = Array.from(
      { length: 6_000 },
      (_, n) => `pump number${n} ${n % 4 === 0 ? 'quarter' : 'rest'}`,
    );
    const { space, collectionId, documentId } = await collect(texts);
    const { rows } = await world.admin.query<{ lexeme: string; df: number }>(
      `select lexeme, df from lexeme_stats where collection_id = $1 order by df desc`,
      [collectionId],
    );
    const df = Object.fromEntries(rows.map((row) => [row.lexeme, row.df]));
    expect(df['pump']).toBe(6_000);
    expect(df['quarter']! / 1_500).toBeGreaterThan(0.9);
    expect(df['quarter']! / 1_500).toBeLessThan(1.1);
    expect(df['number77']).toBeUndefined();
    // `pump` alone is in too many passages to rank each, but the rarest word always is looked up.
    const hits = await match(space.tenantId, collectionId, 'pump number77 rest');
    expect(hits[0]).toMatchObject({ position: 77 });
    expect(hits[0]!.coverage).toBe(1);
    expect(await match(space.tenantId, collectionId, 'pump')).toHaveLength(200);
    await world.act(space, (ctx) => deleteDocument(ctx, { collectionId, documentId }));
    expect(await match(space.tenantId, collectionId, 'pump number77 rest')).toEqual([]);
    await add(space, collectionId, ['pump quarter']);
    expect(await match(space.tenantId, collectionId, 'pump quarter')).toHaveLength(1);
  });
});
