import { newId } from '#domain/foundation/kernel/ids.ts';
import { createCollection } from '#domain/knowledge/collections/create-collection.ts';
import { uploadDocument } from '#domain/knowledge/collections/upload-document.ts';
import { embedDocument } from '#domain/knowledge/embeddings/embed-document.ts';
import type { Embedders } from '#domain/knowledge/embeddings/embedder.ts';
import { ensureLive } from '#domain/knowledge/embeddings/start-generation.ts';
import { chunkText } from '#domain/knowledge/ingestion/chunk-text.ts';
import { finishIngestion } from '#domain/knowledge/ingestion/finish-ingestion.ts';
import { storePassages } from '#domain/knowledge/ingestion/store-passages.ts';
import type { KnowledgeWorld, SpaceFixture } from '#test/support/knowledge-world.ts';
import type { SourceDocument, TestCollection } from './test-collection.ts';

export interface LoadedCollection {
  space: SpaceFixture;
  collectionId: string;
  passages: number;
  /** Ids in the collection by those of our documents. */
  sourceIds: Map<string, string>;
}

const signal = new AbortController().signal;

/** Uploads, cuts, stores and embeds every document in a space of its own, as the ingestion does. */
export async function loadCollection(
  world: KnowledgeWorld,
  { documents, name }: TestCollection,
  embedders: Embedders,
  chunkSize?: number,
): Promise<LoadedCollection> {
  const space = await world.addSpace();
  const { tenantId } = space;
  const inTransaction = world.access(space).inTransaction;
  const { collection } = await world.act(space, (ctx) => createCollection(ctx, { name }));
  const [target] = await ensureLive({ ...space, inTransaction, embedders, signal });
  if (target === undefined) throw new Error('The tenant has no embedding model.');
  const embedder = embedders.of(target.model);
  const sourceIds = new Map<string, string>();
  let passages = 0;
  // Two of Cranfield are empty.
  for (const source of documents.filter(({ text }) => text !== '')) {
    const { document } = await world.act(space, (ctx) =>
      uploadDocument(ctx, {
        collectionId: collection.id,
        filename: `${source.id}.txt`,
        mediaType: 'text/plain',
        content: source.text,
      }),
    );
    const stored = await inTransaction((em) =>
      storePassages(em, { documentId: document.id, readingId: newId(), chunks: cut(source, chunkSize) }),
    );
    if (stored === null) throw new Error('A document was not stored.');
    passages += stored.chunkCount;
    const read = { tenantId, documentId: document.id, generation: stored.generation };
    await embedDocument(inTransaction, { target, embedder, document: read, signal, isOver: () => false });
    await inTransaction((em) => finishIngestion(em, document.id, null));
    sourceIds.set(document.id, source.id);
  }
  await world.admin.query('vacuum analyze');
  return { space, collectionId: collection.id, passages, sourceIds };
}

function cut({ title, text }: SourceDocument, chunkSize?: number) {
  return chunkText(
    { text, sections: [{ heading: title, page: null, anchor: null, start: 0, end: text.length }] },
    chunkSize,
  );
}
