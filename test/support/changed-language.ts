import { newId } from '#domain/foundation/kernel/ids.ts';
import { collectionStatistics } from '#domain/knowledge/collections/collection-statistics.ts';
import { Collection } from '#domain/knowledge/collections/collection.entity.ts';
import { createCollection } from '#domain/knowledge/collections/create-collection.ts';
import { updateCollection } from '#domain/knowledge/collections/update-collection.ts';
import { uploadDocument } from '#domain/knowledge/collections/upload-document.ts';
import { finishIngestion } from '#domain/knowledge/ingestion/finish-ingestion.ts';
import { reindexSlice } from '#domain/knowledge/ingestion/reindex-slice.ts';
import { storePassages } from '#domain/knowledge/ingestion/store-passages.ts';
import { matchKeywords } from '#domain/knowledge/search/match-keywords.ts';
import type { KnowledgeWorld, SpaceFixture } from './knowledge-world.ts';

/** Stemmed `häuser` in English and `haus` in German: a passage is found by `Häuser` in both, by `Haus` in German. */
const sentence = (n: number) => `Die Häuser am Hafen haben die Nummer ${n}.`;

/** A collection of German documents that was made as an English one. */
export interface GermanCollection {
  space: SpaceFixture;
  collectionId: string;
  /** Adds a document with so many passages, which a reading has stored. */
  add(passages: number): Promise<string>;
  /** Replaces the passages of a document by those of another reading. */
  readAgain(documentId: string, passages: number): Promise<void>;
  change(textSearchConfig: string): Promise<void>;
  slice(): Promise<boolean>;
  /** Adds so many documents with the passages of another. */
  copy(documentId: string, count: number): Promise<void>;
  /** Hits of a word: a passage that is found twice counts twice. */
  found(word: string): Promise<number>;
  statistics(): ReturnType<typeof collectionStatistics>;
  /** Number of passages that searches find, by the language that they have. */
  languages(): Promise<Record<string, number>>;
}

export async function germanCollection(
  world: KnowledgeWorld,
  known?: SpaceFixture,
): Promise<GermanCollection> {
  const space = known ?? (await world.addSpace());
  const { tenantId } = space;
  const { collection } = await world.act(space, (ctx) => createCollection(ctx, { name: 'Hafen' }));
  const collectionId = collection.id;
  const read = (documentId: string, passages: number) =>
    world.unitOfWork.inTenant(tenantId, async (em) => {
      const chunks = Array.from({ length: passages }, (_, n) => ({
        heading: null,
        text: sentence(n),
        start: 0,
        end: 1,
        page: null,
        anchor: null,
      }));
      await storePassages(em, { documentId, readingId: newId(), chunks });
      await finishIngestion(em, documentId, null);
    });
  return {
    space,
    collectionId,
    add: async (passages) => {
      const { document } = await world.act(space, (ctx) =>
        uploadDocument(ctx, {
          collectionId,
          filename: 'hafen.txt',
          mediaType: 'text/plain',
          content: sentence(0),
        }),
      );
      await read(document.id, passages);
      return document.id;
    },
    copy: async (documentId, count) => {
      await world.admin.query(
        `with made as (
           insert into documents (tenant_id, id, collection_id, filename, media_type, status, content_key, content_hash,
             byte_size, chunk_count, generation, created_by)
           select d.tenant_id, gen_random_uuid(), d.collection_id, d.filename, d.media_type, d.status, d.content_key,
             d.content_hash, d.byte_size, d.chunk_count, d.generation, d.created_by
           from documents d cross join generate_series(1, $2) where d.id = $1 returning id)
         insert into chunks (tenant_id, document_id, generation, position, collection_id, text, start_offset, end_offset, config)
         select c.tenant_id, m.id, c.generation, c.position, c.collection_id, c.text, c.start_offset, c.end_offset, c.config
         from chunks c cross join made m where c.document_id = $1`,
        [documentId, count],
      );
    },
    readAgain: async (documentId, passages) => {
      await world.admin.query(`update documents set status = 'processing' where id = $1`, [documentId]);
      await read(documentId, passages);
    },
    change: async (textSearchConfig) => {
      await world.act(space, (ctx) => updateCollection(ctx, { collectionId, textSearchConfig }));
    },
    slice: () => world.unitOfWork.inTenant(tenantId, (em) => reindexSlice(em, { tenantId, collectionId })),
    found: async (word) => {
      const query = { tenantId, collectionIds: [collectionId], question: word, filter: {}, reading: null };
      const hits = await world.unitOfWork.inTenant(tenantId, (em) =>
        matchKeywords(em, { ...query, limit: 100_000 }),
      );
      return hits.length;
    },
    statistics: () =>
      world.unitOfWork.inTenant(tenantId, async (em) =>
        collectionStatistics(em, await em.findOneOrFail(Collection, { id: collectionId })),
      ),
    languages: async () => {
      const { rows } = await world.admin.query<{ config: string; n: number }>(
        `select c.config::text as config, count(*)::int4 as n
         from chunks c join documents d on d.tenant_id = c.tenant_id and d.id = c.document_id and d.generation = c.generation
         where c.collection_id = $1 group by 1 order by 1`,
        [collectionId],
      );
      return Object.fromEntries(rows.map(({ config, n }) => [config, n]));
    },
  };
}
