import {
  collectionEnvelope,
  collectionPage,
  countedCollectionEnvelope,
  documentEnvelope,
  documentPage,
  passagePage,
} from '#api/contract/knowledge.ts';
import { deleted } from '#api/contract/common.ts';
import { contentLimitsOf } from '#api/limits/content-limits.ts';
import * as inputs from '#api/contract/procedures.ts';
import { presentCollection, presentCounted, presentDocument } from '#api/present/knowledge.ts';
import { toPage } from '#api/present/page.ts';
import { createCollection } from '#domain/knowledge/collections/create-collection.ts';
import { deleteCollection } from '#domain/knowledge/collections/delete-collection.ts';
import { deleteDocument } from '#domain/knowledge/collections/delete-document.ts';
import { listCollections } from '#domain/knowledge/collections/list-collections.ts';
import { listDocuments } from '#domain/knowledge/collections/list-documents.ts';
import { listPassages } from '#domain/knowledge/collections/list-passages.ts';
import { readCollection } from '#domain/knowledge/collections/read-collection.ts';
import { readDocument } from '#domain/knowledge/collections/read-document.ts';
import { retryDocument } from '#domain/knowledge/collections/retry-document.ts';
import { updateCollection } from '#domain/knowledge/collections/update-collection.ts';
import { uploadDocument } from '#domain/knowledge/collections/upload-document.ts';
import { procedure, reads, router } from './trpc.ts';

export const collections = router({
  list: procedure({ permission: 'collections.read', audit: reads })
    .input(inputs.spaceListInput)
    .output(collectionPage)
    .query(async ({ ctx: { request }, input: { space_id: spaceId, limit, cursor } }) => {
      const page = await request.inContext(spaceId, (ctx) =>
        listCollections(ctx, { limit, cursor: cursor ?? null }),
      );
      return toPage({ ...page, items: page.items.map(presentCollection) });
    }),

  get: procedure({ permission: 'collections.read', audit: reads })
    .input(inputs.collectionInput)
    .output(countedCollectionEnvelope)
    .query(async ({ ctx: { request }, input: { space_id: spaceId, collection_id: collectionId } }) => ({
      data: presentCounted(await request.inContext(spaceId, (ctx) => readCollection(ctx, { collectionId }))),
    })),

  create: procedure({ permission: 'collections.create', audit: ['collection.created'] })
    .input(inputs.createCollectionInput)
    .output(collectionEnvelope)
    .mutation(async ({ ctx: { request }, input }) => {
      const { collection } = await request.inContext(input.space_id, (ctx) =>
        createCollection(ctx, {
          name: input.name,
          description: input.description ?? null,
          textSearchConfig: input.text_search_config ?? 'english',
          enforceSourceReaders: input.enforce_source_readers ?? false,
        }),
      );
      return { data: presentCollection(collection) };
    }),

  update: procedure({ permission: 'collections.update', audit: ['collection.updated'] })
    .input(inputs.updateCollectionInput)
    .output(collectionEnvelope)
    .mutation(async ({ ctx: { request }, input }) => {
      const collection = await request.inContext(input.space_id, (ctx) =>
        updateCollection(ctx, {
          collectionId: input.collection_id,
          name: input.name,
          description: input.description,
          textSearchConfig: input.text_search_config,
          enforceSourceReaders: input.enforce_source_readers,
        }),
      );
      return { data: presentCollection(collection) };
    }),

  delete: procedure({ permission: 'collections.delete', audit: ['collection.deleted'] })
    .input(inputs.collectionInput)
    .output(deleted)
    .mutation(async ({ ctx: { request }, input: { space_id: spaceId, collection_id: collectionId } }) => {
      await request.inContext(spaceId, (ctx) => deleteCollection(ctx, { collectionId }));
      return { data: { id: collectionId, deleted: true as const } };
    }),
});

interface DocumentInput {
  collection_id: string;
  document_id: string;
}

const refOf = ({ collection_id: collectionId, document_id: documentId }: DocumentInput) => ({
  collectionId,
  documentId,
});

export const documents = router({
  list: procedure({ permission: 'documents.read', audit: reads })
    .input(inputs.documentListInput)
    .output(documentPage)
    .query(async ({ ctx: { request }, input }) => {
      const { space_id: spaceId, collection_id: collectionId, limit, cursor } = input;
      const page = await request.inContext(spaceId, (ctx) =>
        listDocuments(ctx, { collectionId, limit, cursor: cursor ?? null }),
      );
      return toPage({ ...page, items: page.items.map(presentDocument) });
    }),

  get: procedure({ permission: 'documents.read', audit: reads })
    .input(inputs.documentInput)
    .output(documentEnvelope)
    .query(async ({ ctx: { request }, input }) => ({
      data: presentDocument(
        await request.inContext(input.space_id, (ctx) => readDocument(ctx, refOf(input))),
      ),
    })),

  passages: procedure({ permission: 'documents.read', audit: reads })
    .input(inputs.passageListInput)
    .output(passagePage)
    .query(async ({ ctx: { request }, input }) => {
      const { limit, cursor } = input;
      return toPage(
        await request.inContext(input.space_id, (ctx) =>
          listPassages(ctx, { ...refOf(input), limit, cursor: cursor ?? null }),
        ),
      );
    }),

  upload: procedure({ permission: 'documents.write', audit: ['collection.documents_added'] })
    .input(inputs.uploadDocumentInput)
    .output(documentEnvelope)
    .mutation(async ({ ctx: { request, deps }, input }) => {
      const { document } = await request.inContext(input.space_id, (ctx) =>
        uploadDocument(ctx, {
          collectionId: input.collection_id,
          filename: input.filename,
          mediaType: input.media_type,
          content: input.content,
          limits: contentLimitsOf(deps.config),
          metadata: input.metadata ?? {},
        }),
      );
      return { data: presentDocument(document) };
    }),

  delete: procedure({ permission: 'documents.delete', audit: ['collection.documents_deleted'] })
    .input(inputs.documentInput)
    .output(deleted)
    .mutation(async ({ ctx: { request }, input }) => {
      await request.inContext(input.space_id, (ctx) => deleteDocument(ctx, refOf(input)));
      return { data: { id: input.document_id, deleted: true as const } };
    }),

  retry: procedure({ permission: 'documents.write', audit: ['collection.documents_retried'] })
    .input(inputs.documentInput)
    .output(documentEnvelope)
    .mutation(async ({ ctx: { request }, input }) => ({
      data: presentDocument(
        await request.inContext(input.space_id, (ctx) => retryDocument(ctx, refOf(input))),
      ),
    })),
});
